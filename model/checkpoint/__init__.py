"""Checkpoint folders: read strictly and without torch, written atomically.

`reader` reads and `writer` writes them; `config` is config.json, `parameters` the names and shapes
that weights must have, `golden` the recorded translations. `pretrained` loads weights into the
paper's modules; it imports torch, like the writer.
"""
