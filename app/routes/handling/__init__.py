"""The steps from request to response that routes share.

In order: `dependencies` (the client, and what the application provides), `body` and
`file_transfer` (the request), `charging` (to its account), `responses`; `routing` has kinds of
routes. Called by `app.routes`.
"""
