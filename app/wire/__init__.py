"""The wire formats: JSON schemas and errors; no behaviour.

`native` has the requests and responses of attend's own dialect; `dialects` converts those of
LibreTranslate and DeepL to and from them. `problems` maps errors to status codes and RFC 9457
documents, `failures` converts these to each dialect's form, and `openapi` describes everything.
Called by `app.routes` and `app.server`.
"""
