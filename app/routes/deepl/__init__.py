"""DeepL's dialect: texts, documents, and stored glossaries of version 2 and 3 of its API.

Unlike the modules of `app.routes`, these share the `/v2` and `/v3` prefixes and one form of errors.
Called by `app.main`.
"""
