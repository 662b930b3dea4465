"""Search for the target sequence: the reference for all engines.

Reading order: `rules`, `processors` and `hypothesis` (options, limits and results), `beam`, then
`constrained`. Tensors in, token ids out; called by engines and by the validation of training.
"""
