"""Sockets and ASGI: the process, its connections, and the middleware for every request.

In the order in which a request passes them: `process` (uvicorn with signals, drain and reload),
`connections` (HTTP with limits of time and size), `load_shedding` (rejects at once, or starts a few
at a time), `middleware` (id, log line, metrics, unhandled exceptions, security headers). Called by
`app.main` and `app.cli` only.
"""
