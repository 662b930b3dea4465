"""The `attend` command: one module per verb.

`main` is the entry point and imports a verb only when it is run; `options` and `import_cache` are
shared. `display` draws output for several verbs, `translating` implements `translate`.
"""
