"""The `attend` command: one module per verb."""
