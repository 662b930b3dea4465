"""The native dialect: its requests, parsed and validated, and its responses.

Requests convert themselves to those of `app.translation`. Nothing here imports HTTP. `request` has
the base of all requests, `answers` every response.
"""
