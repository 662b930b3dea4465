"""What routes share on the way from a request to its answer.

In order: `access` (which client), `body` and `dialect_choice` (what it asks), `timeout`, `charging`
(at whose expense), `disconnect` (until it leaves), `event_stream` (a part at a time);
`dependencies` is what a route gets from the application. Called by `app.routes` and `app.main`.
"""
