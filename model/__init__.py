"""The Transformer of "Attention Is All You Need": text and tensors, no HTTP."""
