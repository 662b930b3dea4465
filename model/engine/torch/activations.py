"""The vectors of one position on its way through figure 1, from the paper's modules."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from model.engine.explanations import Activation, IdPair, LayerRow
from model.transformer.attention import MultiHeadAttention
from model.transformer.decoder import DecoderLayer
from model.transformer.encoder import EncoderLayer
from model.transformer.feed_forward import FeedForward
from model.transformer.ssru import SSRU
from model.transformer.sublayer import Sublayer
from model.transformer.transformer import AttentionRecord, Transformer


class _Calls:
    """Inputs and outputs of the modules that ran, [1, T, …] each; the last call of each module."""

    def __init__(self) -> None:
        self.inputs: dict[nn.Module, Tensor] = {}
        self.outputs: dict[nn.Module, Tensor] = {}

    def record(self, module: nn.Module, inputs: tuple[Tensor, ...], output: object) -> None:
        """Called after a module."""
        self.inputs[module] = inputs[0]
        if isinstance(output, Tensor):
            self.outputs[module] = output


class _Row:
    """The vectors of one row."""

    def __init__(self, calls: _Calls, row: int) -> None:
        self.found: list[Activation] = []
        self.calls = calls
        self._row = row

    def add(self, sublayer: str, name: str, states: Tensor) -> None:
        vector = states[0, self._row].float().cpu().numpy()
        self.found.append(Activation(sublayer, name, vector))

    def sublayer(
        self, name: str, around: Sublayer, inner: dict[str, Tensor], output: Tensor
    ) -> None:
        """Add a sub-layer: its norm before or after, its vectors, output and residual sum."""
        calls = self.calls
        if around.pre_norm:
            self.add(name, "norm", calls.outputs[around.norm])
        for part, states in inner.items():
            self.add(name, part, states)
        self.add(name, "output", output)
        is_pre = around.pre_norm
        self.add(name, "residual", calls.outputs[around] if is_pre else calls.inputs[around.norm])
        if not is_pre:
            self.add(name, "norm", calls.outputs[around.norm])

    def attention(self, name: str, around: Sublayer, attention: MultiHeadAttention) -> None:
        """Add §3.2.2. Keys and values of the source belong to other positions."""
        outputs = self.calls.outputs
        inner = {"query": outputs[attention.w_q]}
        if name == "self_attention":
            inner |= {"key": outputs[attention.w_k], "value": outputs[attention.w_v]}
        inner["context"] = self.calls.inputs[attention.w_o]
        self.sublayer(name, around, inner, outputs[attention.w_o])

    def recurrence(self, around: Sublayer, ssru: SSRU) -> None:
        """Add the SSRU's x̃_t, f_t, c_t and max(0, c_t)."""
        candidates, forget = self.calls.outputs[ssru.w], self.calls.outputs[ssru.w_f].sigmoid()
        cells = [torch.zeros_like(candidates[:, 0])]
        for t in range(candidates.shape[1]):
            cells.append(forget[:, t] * cells[-1] + (1 - forget[:, t]) * candidates[:, t])
        cell = torch.stack(cells[1:], dim=1)
        inner = {"candidate": candidates, "forget": forget, "cell": cell}
        self.sublayer("ssru", around, inner, cell.relu())

    def feed_forward(self, around: Sublayer, network: FeedForward) -> None:
        """Add §3.3."""
        hidden, output = self.calls.inputs[network.w_2], self.calls.outputs[network.w_2]
        self.sublayer("feed_forward", around, {"hidden": hidden}, output)


def activations(model: Transformer, pair: IdPair, at: LayerRow) -> list[Activation]:
    """Run one pass over a pair; see `Explanations.activations`."""
    in_encoder = at.stack == "encoder"
    stack = model.encoder if in_encoder else model.decoder
    layers: list[EncoderLayer | DecoderLayer] = [*stack.layers]
    layer = layers[at.layer]
    source, target = pair
    fed = [model.config.start_id, *target[:-1]]
    ids = source if in_encoder else fed
    calls = _Calls()
    modules = (*layer.modules(), stack.norm, model.output)
    hooks = [module.register_forward_hook(calls.record) for module in modules]
    try:
        states, targets = (torch.tensor([list(one)], device=model.device) for one in (source, fed))
        record = AttentionRecord()  # by equation 1, as in `explain`
        memory = model.encode(states, record if in_encoder else None)
        logits = model.output(model.decode(memory, targets, record))
    finally:
        for hook in hooks:
            hook.remove()
    row = _Row(calls, at.row)
    embedding = model.source_embedding if in_encoder else model.target_embedding
    token, position = embedding.weight[ids[at.row]], model.positions.table[at.row]
    for name, vector in (
        ("token", token),
        ("position", position),
        ("sum", token * embedding.scale + position),
    ):
        row.found.append(Activation("embedding", name, _numbers(vector)))
    row.add("stack", "input", calls.inputs[layer])
    if isinstance(layer, DecoderLayer):
        if layer.is_recurrent:
            row.recurrence(layer.self_attention_sublayer, layer.ssru)
        else:
            row.attention("self_attention", layer.self_attention_sublayer, layer.self_attention)
        row.attention("cross_attention", layer.cross_attention_sublayer, layer.cross_attention)
    else:
        row.attention("self_attention", layer.attention_sublayer, layer.self_attention)
    row.feed_forward(layer.feed_forward_sublayer, layer.feed_forward)
    if model.config.norm_order == "pre":
        row.add("stack", "norm", calls.outputs[stack.norm])
    if not in_encoder:
        row.add("output", "logits", logits)
    return row.found


def _numbers(vector: Tensor) -> np.ndarray:
    numbers: np.ndarray = vector.float().cpu().numpy()
    return numbers
