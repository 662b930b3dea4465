"""The server and the command line around `model`."""

__version__ = "0.2.0"
"""Version of the distribution `attend-server`; pyproject.toml reads it here."""
