"""The steps from request to response that routes share.

In order: `dependencies` (the client, and what the application provides), `body` and
`dialect_choice` (which request), `charging` (to its account), `disconnect` (until it leaves),
`json_response` and `event_stream`; `routing` has kinds of routes. Called by `app.routes`.
"""
