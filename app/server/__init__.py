"""Sockets and ASGI: the process, its connections, and the middleware of every request.

In the order in which a request passes them: `process` (uvicorn with signals, drain and reload),
`connections` (HTTP with a time and a size for everything), `gate` (refused at once, or started a
few at a time), `load_shedding` and `loop_lag` (whether there is room), `middleware` (id, log line,
metrics, the net under it), `security_headers`. Called by `app.main` and `app.cli` only.
"""
