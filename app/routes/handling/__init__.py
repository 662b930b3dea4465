"""The steps from request to response that routes share.

In order: `access` (which client), `body` and `dialect_choice` (which request), `timeout`,
`charging` (to its account), `disconnect` (until it leaves), `event_stream` (in parts);
`dependencies` are provided by the application, `routing` has kinds of routes. Called by
`app.routes` and `app.main`.
"""
