"""Implements `attend translate`: lines and files, in this process or by a running server."""
