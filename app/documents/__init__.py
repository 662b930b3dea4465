"""Files as texts to translate and as files again: a module a format."""
