"""Names and shapes of the parameters of a configuration, without building the model."""

from __future__ import annotations

from model.transformer.config import TransformerConfig

Shapes = dict[str, tuple[int, ...]]


def parameter_shapes(config: TransformerConfig) -> Shapes:
    """Shapes of `Transformer.named_parameters`, shared ones once; matrices are [out, in]."""
    width = config.d_model
    shapes: Shapes = {"source_embedding.weight": (config.source_vocab_size, width)}
    if not config.share_embeddings:
        shapes["target_embedding.weight"] = (config.target_vocab_size, width)
    shapes |= _encoder(config) | _decoder(config)
    if not config.tie_output:
        shapes["output.weight"] = (config.target_vocab_size, width)
    if config.output_bias:
        shapes["output.bias"] = (config.target_vocab_size,)
    return shapes


def _encoder(config: TransformerConfig) -> Shapes:
    sublayers = {"self_attention": "attention_sublayer"}
    return _stack("encoder", config.n_encoder_layers, sublayers, config.d_ff, config)


def _decoder(config: TransformerConfig) -> Shapes:
    sublayers = {name: f"{name}_sublayer" for name in ("self_attention", "cross_attention")}
    return _stack("decoder", config.n_decoder_layers, sublayers, config.d_ff_of_decoder, config)


def _stack(
    name: str, n_layers: int, sublayers: dict[str, str], d_ff: int, config: TransformerConfig
) -> Shapes:
    """Return a stack's shapes; `sublayers` has a layer's attentions and the sub-layer of each."""
    width = config.d_model
    shapes: Shapes = {}
    for layer in range(n_layers):
        path = f"{name}.layers.{layer}"
        for attention, sublayer in sublayers.items():
            for matrix in ("w_q", "w_k", "w_v", "w_o"):
                shapes |= _linear(f"{path}.{attention}.{matrix}", width, width)
            shapes |= _norm(f"{path}.{sublayer}.norm", width)
        shapes |= _linear(f"{path}.feed_forward.w_1", width, d_ff)
        shapes |= _linear(f"{path}.feed_forward.w_2", d_ff, width)
        shapes |= _norm(f"{path}.feed_forward_sublayer.norm", width)
    if config.norm_order == "pre":
        shapes |= _norm(f"{name}.norm", width)
    return shapes


def _linear(path: str, d_in: int, d_out: int) -> Shapes:
    return {f"{path}.weight": (d_out, d_in), f"{path}.bias": (d_out,)}


def _norm(path: str, width: int) -> Shapes:
    return {f"{path}.weight": (width,), f"{path}.bias": (width,)}
