"""What clients of LibreTranslate and DeepL send and expect, beside the native dialect.

A module a dialect, each of which converts to and from the shapes of `app.wire.native`. Called by
`app.routes` and `app.wire.openapi`; errors in a dialect's form are in `app.wire.failures`.
"""
