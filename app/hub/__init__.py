"""Fetches models from the Hugging Face hub, or a mirror of it, by its HTTP API.

`names` reads what a user calls a model, `listing` asks which files it has, `download` fetches one
file, `selection` says which files an import needs, and `origin` records where a model came from.
"""
