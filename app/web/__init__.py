"""The page at `GET /` and its assets; see docs/page.md."""
