"""Pure functions on strings: segments, placeholders, glossary terms, markup, flags.

All use `spans`. A text is never split and rejoined: its spans are replaced. Called by
`app.translation`, `app.documents` and `app.wire`; imports none of them.
"""
