"""Everything that is read from or written to the wire, as JSON shapes and errors; no behaviour.

`native` has the requests and answers of attend's own dialect, which `app.translation` works with;
`dialects` converts those of LibreTranslate and DeepL to and from them. `problems` maps errors to
status codes and RFC 9457 documents, `failures` those to each dialect's form, and `openapi`
describes all of it. Called by `app.routes` and `app.server`.
"""
