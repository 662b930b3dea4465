"""The dialects of other services, beside the native one.

Each converts to and from the schemas of `app.wire.native`. Called by `app.routes` and
`app.wire.openapi`; `app.wire.failures` formats errors in each dialect.
"""
