"""What runs many sentences at once: a small protocol, and its implementations."""
