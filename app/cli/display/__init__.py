"""Output to a terminal or a file: progress bars, tables, curves."""
