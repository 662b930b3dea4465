"""What runs many sentences at once: a small protocol, and its implementations.

`protocol` is the seam that schedulers know, `eager` the reference, `cpu/` what serves on a CPU;
`build` chooses. `run` and `compile` are programs' ways in; `device` finds GPUs and counts cores.
"""
