"""Pure functions on strings: segments, placeholders, glossary terms, markup, flags, languages.

`spans` is below all. A text is never taken apart and rebuilt: spans of it are replaced. Called by
`app.translation`, `app.documents` and `app.wire`; imports nothing of them.
"""
