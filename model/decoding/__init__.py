"""Search for the target sequence: the reference for all engines.

Reading order: `hypothesis` (options and results), `greedy`, `beam`, then `constrained`. Tensors in,
token ids out; called by engines and by the validation of training.
"""
