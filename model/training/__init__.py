"""Training by the recipe of §5 of the paper; nothing else in `model` depends on it.

To read first: `config` (a recipe), `run` (a run's folder), `trainer` (the loop), `finish` (the
checkpoint). Called by `attend train` and `attend init`.
"""
