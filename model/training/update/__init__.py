"""One update of the weights: precision, loss, optimizer, learning rate, and the search for NaN.

Knows tensors and the recipe's tables for them, nothing of files or corpora. Called by the trainer.
"""
