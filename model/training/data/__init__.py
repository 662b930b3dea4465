"""Training data: parallel text, noise, the vocabulary, and the order of batches."""
