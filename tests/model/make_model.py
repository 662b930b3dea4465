from collections.abc import Callable

from model.transformer.transformer import Transformer

MakeModel = Callable[..., Transformer]
"""Makes a tiny model with random weights; arguments include fields of its configuration."""
