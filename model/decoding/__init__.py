"""Search for the target sequence: pure functions over tensors, the reference every engine is held to."""
