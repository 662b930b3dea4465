"""HTTP: thin adapters to the service."""
