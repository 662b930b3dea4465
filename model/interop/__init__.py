"""Other projects' checkpoints in and out; nothing else depends on it."""
