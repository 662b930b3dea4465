"""How `attend translate` works: lines and files, here or by a running server."""
