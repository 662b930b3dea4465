from collections.abc import Callable

from model.transformer.transformer import Transformer

MakeModel = Callable[..., Transformer]
"""Makes a tiny model of random weights; arguments are fields of its configuration, and more."""
