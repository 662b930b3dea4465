"""The native dialect: its requests as they are read and checked, and its answers.

These are the terms of the pipeline, so `app.translation` may import them; they import no HTTP.
`request` is what all requests have in common, `answers` has every answer.
"""
