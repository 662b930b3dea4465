"""The parameters of a configuration: names, shapes, parts of figure 1. Builds no model."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from model.transformer import parameter_names as names
from model.transformer.config import TransformerConfig

Shapes = dict[str, tuple[int, ...]]

PAPER_PARAMETERS = {"base": 65e6, "big": 213e6}
"""Table 3. The paper does not define the count; these shapes give 2.8 % less and 0.5 % more."""

_SYMBOLS = {
    "w_q": "W^Q", "w_k": "W^K", "w_v": "W^V", "w_o": "W^O", "w_1": "W_1", "w_2": "W_2", "w": "W",
    "w_f": "W_f", "norm": "gain",
}  # fmt: skip
"""The paper's symbols of the modules' weights."""


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
    return _total(parameter_shapes(config))


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


@dataclass(frozen=True, slots=True)
class Part:
    """A part of figure 1, such as "Encoder layer 1 … 6", "Multi-Head Attention".

    tensors       symbol → shape, where W maps a row vector x to x W + b, as in the paper
    n_parameters  of one copy; 0 if they are shared and counted elsewhere
    copies        number of layers with this part
    note          details that the names do not show
    """

    block: str
    component: str
    tensors: dict[str, tuple[int, ...]]
    n_parameters: int
    copies: int = 1
    note: str = ""


def describe(config: TransformerConfig) -> list[Part]:
    """Return all parts in data-flow order; their parameters sum to `n_parameters`."""
    shapes = parameter_shapes(config)
    source = shapes[f"{names.SOURCE_EMBEDDING}.weight"]
    target = shapes.get(f"{names.TARGET_EMBEDDING}.weight")
    scaling = "times √d_model" if config.scale_embedding else ""
    tied = "transposed Output Embedding" if config.tie_output else ""
    output: Shapes = {"W": (target or source)[::-1]}
    n_output = 0 if tied else math.prod(output["W"])
    if bias := shapes.get(f"{names.OUTPUT}.bias"):
        output["b"] = bias
        n_output += math.prod(bias)
    return [
        Part("Encoder", "Input Embedding", {"E": source}, math.prod(source), note=scaling),
        *_parts(names.ENCODER, config, shapes),
        Part("Decoder", "Output Embedding", {"E": target}, math.prod(target), note=scaling)
        if target
        else Part("Decoder", "Output Embedding", {"E": source}, 0, note="is the Input Embedding"),
        *_parts(names.DECODER, config, shapes),
        Part("Output", "Linear", output, n_output, note=tied),
        Part("Output", "Softmax", {}, 0),
    ]


def _parts(stack: str, config: TransformerConfig, shapes: Shapes) -> Iterator[Part]:
    encodes, title, pre_norm = stack == names.ENCODER, stack.title(), config.norm_order == "pre"
    table = (config.max_length, config.d_model)
    yield Part(title, "Positional Encoding", {"PE": table}, 0, note="sinusoids, not learnt")
    n_layers = config.n_encoder_layers if encodes else config.n_decoder_layers
    n_heads = config.n_heads if encodes else config.n_heads_of_decoder
    heads = f"h = {n_heads}, d_k = {config.d_model // n_heads}"
    masked = "" if encodes else "Masked "
    sublayers: list[tuple[str, tuple[str, ...], str]] = [
        (f"{masked}Multi-Head Attention", names.SELF_ATTENTION[stack], f"self; {heads}"),
        ("Multi-Head Attention", names.CROSS_ATTENTION, f"cross; {heads}"),
        ("Feed Forward", names.FEED_FORWARD, f"then {config.activation}"),
    ]
    if encodes:
        del sublayers[1]
    elif config.is_recurrent:
        sublayers[0] = ("SSRU", names.SSRU, "in place of masked self-attention")
    block = f"{title} layer 1" + (f" … {n_layers}" if n_layers > 1 else "")
    for component, (*linear, norm), note in sublayers:
        notes = [note, *[""] * (len(linear) - 1)]
        for module, of_module in zip(linear, notes, strict=True):
            tensors = _tensors(names.in_layer(stack, 0, module), shapes)
            yield Part(block, component, tensors, _total(tensors), n_layers, of_module)
        tensors = _tensors(names.in_layer(stack, 0, norm), shapes)
        before = "norm before the sub-layer" if pre_norm else ""
        yield Part(block, "Add & Norm", tensors, _total(tensors), n_layers, before)
    if pre_norm:
        tensors = _tensors(names.final_norm(stack), shapes)
        yield Part(title, "Norm", tensors, _total(tensors), note="of the last sum")


def _tensors(module: str, shapes: Shapes) -> Shapes:
    """Return symbol → shape of a module's weight, transposed, and bias."""
    symbol = _SYMBOLS[module.rpartition(".")[2]]
    found: Shapes = {symbol: shapes[f"{module}.weight"][::-1]}
    if bias := shapes.get(f"{module}.bias"):
        found[symbol.replace("gain", "bias").replace("W", "b")] = bias
    return found


def _total(tensors: Shapes) -> int:
    return sum(map(math.prod, tensors.values()))
