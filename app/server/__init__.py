"""Sockets and ASGI: the process, its connections, and the middleware for every request.

In the order in which a request passes them: `process` (uvicorn with signals, drain and reload),
`connections` (HTTP with limits of time and size), `gate` (rejects at once, or starts a few at a
time), `load_shedding` and `loop_lag` (whether there is capacity), `middleware` (id, log line,
metrics, unhandled exceptions), `security_headers`. Called by `app.main` and `app.cli` only.
"""
