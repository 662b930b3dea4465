"""A checkpoint folder, read strictly and without torch, and written whole or not at all.

`reader` and `writer` are the two ways; `config` is config.json, `parameters` the names and shapes
that weights must have, `golden` the translations recorded with it. `pretrained` puts weights into
the paper's modules, `architecture` lists those modules; both import torch, the others do not.
"""
