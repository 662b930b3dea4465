"""Search for the target sequence: the reference that every engine is held to."""
