"""The Transformer of "Attention Is All You Need" and everything that needs only text and tensors."""
