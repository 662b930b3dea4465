"""What verbs draw on a terminal or in a file: progress bars, tables, curves."""
