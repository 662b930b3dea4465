"""Engines, which translate many sentences at once: a small protocol and its implementations.

`protocol` is the interface for schedulers, `eager` the reference, `cpu/` the engine for CPUs,
`torch/` the one for all other devices; `build` chooses. `run` and `compile` are entry points for
programs; `device` finds GPUs and cores.
"""
