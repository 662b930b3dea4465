"""One update of the weights: precision, loss, optimizer, learning rate, and the search for NaN.

Handles tensors and the recipe's tables for them, not files or corpora. Called by the trainer.
"""
