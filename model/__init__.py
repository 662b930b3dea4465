"""The Transformer of "Attention Is All You Need", and all that needs only text and tensors."""
