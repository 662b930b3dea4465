"""Names and shapes of the parameters of a configuration, without building the model."""

import math

from model.transformer import parameter_names as names
from model.transformer.config import TransformerConfig

Shapes = dict[str, tuple[int, ...]]


def parameter_shapes(config: TransformerConfig) -> Shapes:
    """Shapes of `Transformer.named_parameters`, shared ones once; matrices are [out, in]."""
    width = config.d_model
    shapes: Shapes = {f"{names.SOURCE_EMBEDDING}.weight": (config.source_vocab_size, width)}
    if not config.share_embeddings:
        shapes[f"{names.TARGET_EMBEDDING}.weight"] = (config.target_vocab_size, width)
    shapes |= _stack(names.ENCODER, config.n_encoder_layers, config.d_ff, config)
    shapes |= _stack(names.DECODER, config.n_decoder_layers, config.d_ff_of_decoder, config)
    if not config.tie_output:
        shapes[f"{names.OUTPUT}.weight"] = (config.target_vocab_size, width)
    if config.output_bias:
        shapes[f"{names.OUTPUT}.bias"] = (config.target_vocab_size,)
    return shapes


def n_parameters(config: TransformerConfig) -> int:
    """Number of trainable parameters, counting shared matrices once."""
    return sum(map(math.prod, parameter_shapes(config).values()))


def _stack(stack: str, n_layers: int, d_ff: int, config: TransformerConfig) -> Shapes:
    width = config.d_model
    layer: Shapes = {}
    is_recurrent = stack == names.DECODER and config.is_recurrent
    if is_recurrent:
        layer[f"{names.SSRU.w}.weight"] = (width, width)
        layer |= _linear(names.SSRU.w_f, width, width) | _norm(names.SSRU.norm, width)
    for attention in names.attentions(stack, recurrent=is_recurrent):
        for linear in attention.linear:
            layer |= _linear(linear, width, width)
        layer |= _norm(attention.norm, width)
    layer |= _linear(names.FEED_FORWARD.w_1, width, d_ff)
    layer |= _linear(names.FEED_FORWARD.w_2, d_ff, width)
    layer |= _norm(names.FEED_FORWARD.norm, width)
    shapes = {
        names.in_layer(stack, number, name): shape
        for number in range(n_layers)
        for name, shape in layer.items()
    }
    if config.norm_order == "pre":
        shapes |= _norm(names.final_norm(stack), width)
    return shapes


def _linear(path: str, d_in: int, d_out: int) -> Shapes:
    return {f"{path}.weight": (d_out, d_in), f"{path}.bias": (d_out,)}


def _norm(path: str, width: int) -> Shapes:
    return {f"{path}.weight": (width,), f"{path}.bias": (width,)}
