"""The native dialect: its requests, parsed and validated, and its responses.

`fields` has the base of all requests. Requests convert themselves to those of `app.translation`.
Nothing here imports HTTP.
"""
