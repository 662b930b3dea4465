"""Search for the target sequence: the reference that every engine is held to.

To read first: `hypothesis` (what is asked and returned), `greedy`, `beam`, then `constrained`.
Tensors in, token ids out; called by engines and by the validation of training.
"""
