"""The page that `GET /` answers, and what it loads; see docs/page.md."""
