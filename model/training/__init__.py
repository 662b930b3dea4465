"""Training as in §5 of the paper; nothing else in `model` depends on it.

Start with `config` (a recipe), `run` (a run's folder), `trainer` (the loop) and `finish` (the
checkpoint). Called by `attend train` and `attend init`.
"""
