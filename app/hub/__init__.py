"""Fetches models from the Hugging Face hub and from Mozilla's registry, or mirrors of them.

`names` parses names of models, `listing` returns their files, `fetch` downloads those that an
import needs, and `origin` records where a model came from. Firefox's models are listed by
`firefox_registry`, or by `remote_settings`, and fetched by `firefox_files`. `import_cache` keeps
imports of folders that are used as they are, and `corpora` fetches sentence pairs for training.
"""
