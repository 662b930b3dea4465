"""The languages of texts: which are served, by which codes clients know them, and detection.

Called by `app.translation`, `app.loading`, the routes, `app.wire` and the command line; imports
none of them. `Direction`, a source and a target, is `served`'s.
"""
