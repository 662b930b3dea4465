"""What training reads: parallel text, noise, the vocabulary, and the order of batches."""
