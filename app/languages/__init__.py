"""The served languages, the codes by which clients name them, and language detection."""
