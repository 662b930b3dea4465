"""Fetches models from the Hugging Face hub, or a mirror of it, by its HTTP API.

`names` parses names of models, `listing` returns their files, `fetch` downloads those that an
import needs, and `origin` records where a model came from.
"""
