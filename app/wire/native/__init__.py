"""The native dialect: its requests, parsed and validated, and its responses.

The pipeline works with these types, so `app.translation` may import them; they import no HTTP.
`request` has the base of all requests, `answers` every response.
"""
