"""The `attend` command: one module per verb.

`main` is the entry point, which imports a verb only when it is asked for; `options` and
`import_cache` are shared. What verbs draw is in `display`, how `translate` works in `translating`.
"""
