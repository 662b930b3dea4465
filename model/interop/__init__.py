"""Import and export of other projects' checkpoints; nothing else in `model` depends on it.

Import: `marian_import`, through `huggingface_reader`, `npz_reader` or `m2m100_reader`. Export:
`huggingface_export`. Each declares its names in a key map and reports all unsupported options at
once.
"""
