"""Lists the parts of a Transformer, in the order and with the names of figure 1 of the paper."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from model.transformer.attention import MultiHeadAttention
from model.transformer.config import TransformerConfig
from model.transformer.decoder import DecoderLayer
from model.transformer.embedding import TokenEmbedding
from model.transformer.feed_forward import FeedForward
from model.transformer.ssru import SSRU
from model.transformer.sublayer import Sublayer
from model.transformer.transformer import Transformer

PAPER_PARAMETERS = {"base": 65e6, "big": 213e6}
"""Table 3. The paper does not define the count; these shapes give 2.8 % less and 0.5 % more."""


Inner = MultiHeadAttention | FeedForward | SSRU
"""The function inside a residual connection."""


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


def describe(model: Transformer) -> list[Part]:
    """Return all parts in data-flow order; their parameters sum to `Transformer.n_parameters`."""
    return [*_encoder(model), *_decoder(model), *_output(model)]


def _encoder(model: Transformer) -> Iterator[Part]:
    layers, note = list(model.encoder.layers), _scaling(model.config)
    yield _tokens("Encoder", "Input Embedding", model.source_embedding, note, counted=True)
    inner: list[tuple[str, str, Inner, Sublayer]] = [
        ("Multi-Head Attention", "self; ", layers[0].self_attention,
         layers[0].attention_sublayer),
        ("Feed Forward", "", layers[0].feed_forward, layers[0].feed_forward_sublayer),
    ]  # fmt: skip
    yield from _stack("Encoder", len(layers), model.config, inner, model.encoder.norm)


def _decoder(model: Transformer) -> Iterator[Part]:
    layers, embedding = list(model.decoder.layers), model.target_embedding
    shared = embedding is model.source_embedding
    note = "is the Input Embedding" if shared else _scaling(model.config)
    yield _tokens("Decoder", "Output Embedding", embedding, note, counted=not shared)
    inner: list[tuple[str, str, Inner, Sublayer]] = [
        (*_first_of_decoder(layers[0]), layers[0].self_attention_sublayer),
        ("Multi-Head Attention", "encoder-decoder; ", layers[0].cross_attention,
         layers[0].cross_attention_sublayer),
        ("Feed Forward", "", layers[0].feed_forward, layers[0].feed_forward_sublayer),
    ]  # fmt: skip
    yield from _stack("Decoder", len(layers), model.config, inner, model.decoder.norm)


def _first_of_decoder(layer: DecoderLayer) -> tuple[str, str, Inner]:
    if layer.is_recurrent:
        return "SSRU", "", layer.ssru
    return "Masked Multi-Head Attention", "self; ", layer.self_attention


def _output(model: Transformer) -> Iterator[Part]:
    weight, bias = model.output.weight, model.output.bias
    tied = weight is model.target_embedding.weight
    tensors: dict[str, tuple[int, ...]] = {"W": (weight.shape[1], weight.shape[0])}
    n_parameters = 0 if tied else weight.numel()
    if bias is not None:
        tensors["b"] = tuple(bias.shape)
        n_parameters += bias.numel()
    note = "W is the Output Embedding, transposed" if tied else ""
    yield Part("Output", "Linear", tensors, n_parameters, note=note)
    yield Part("Output", "Softmax", {}, 0)


def _tokens(
    block: str, component: str, embedding: TokenEmbedding, note: str, *, counted: bool
) -> Part:
    weight = embedding.weight
    n_parameters = weight.numel() if counted else 0
    return Part(block, component, {"E": tuple(weight.shape)}, n_parameters, note=note)


def _scaling(config: TransformerConfig) -> str:
    return "times √d_model" if config.scale_embedding else ""


def _stack(
    stack: str,
    copies: int,
    config: TransformerConfig,
    inner: Sequence[tuple[str, str, Inner, Sublayer]],
    norm: nn.Module,
) -> Iterator[Part]:
    shape = (config.max_length, config.d_model)
    yield Part(stack, "Positional Encoding", {"PE": shape}, 0, note="sinusoids, not learnt")
    block = f"{stack} layer 1" + (f" … {copies}" if copies > 1 else "")
    n_heads = config.n_heads if stack == "Encoder" else config.n_heads_of_decoder
    d_k = config.d_model // n_heads
    notes = {
        "W^Q": f"h = {n_heads}, d_k = {d_k}",
        "W_1": f"then {config.activation}",
        "W": "in place of masked self-attention",
    }
    for component, kind, module, sublayer in inner:
        for symbol, linear in _linears(module).items():
            weight: Tensor = linear.weight
            bias: Tensor | None = linear.bias
            tensors: dict[str, tuple[int, ...]] = {symbol: (weight.shape[1], weight.shape[0])}
            n_parameters = weight.numel()
            if bias is not None:
                tensors[symbol.replace("W", "b")] = tuple(bias.shape)
                n_parameters += bias.numel()
            note = kind + notes[symbol] if symbol in notes else ""
            yield Part(block, component, tensors, n_parameters, copies, note)
        note = "norm before the sub-layer" if sublayer.pre_norm else ""
        yield from _norm(block, "Add & Norm", sublayer.norm, copies, note)
    yield from _norm(stack, "Norm", norm, note="of the last sum")


def _linears(inner: Inner) -> dict[str, nn.Linear]:
    """Return the linear maps by the paper's symbols, in the paper's order."""
    if isinstance(inner, FeedForward):
        return {"W_1": inner.w_1, "W_2": inner.w_2}
    if isinstance(inner, SSRU):
        return {"W": inner.w, "W_f": inner.w_f}
    return {"W^Q": inner.w_q, "W^K": inner.w_k, "W^V": inner.w_v, "W^O": inner.w_o}


def _norm(
    block: str, component: str, norm: nn.Module, copies: int = 1, note: str = ""
) -> Iterator[Part]:
    if isinstance(norm, nn.LayerNorm):  # post-norm stacks have none at the end
        tensors = {"gain": tuple(norm.weight.shape), "bias": tuple(norm.bias.shape)}
        n_parameters = norm.weight.numel() + norm.bias.numel()
        yield Part(block, component, tensors, n_parameters, copies, note)
