"""One position of every hypothesis of every slot, by the paper's modules: `Decoder.step`.

The modules' matrices are used as they are, but those with the same input are joined: queries, keys
and values of the self-attention, and keys and values of the memory in all layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.engine.torch.state import State
from model.transformer.attention import MultiHeadAttention
from model.transformer.decoder import DecoderLayer
from model.transformer.embedding import OutputProjection
from model.transformer.transformer import Transformer


class Rows(NamedTuple):
    """The R of N·K hypotheses that a step computes, in order.

    On a CPU only live hypotheses that may still enter the n best go through the products. Elsewhere
    all do: varying shapes would need other graphs, and idle rows cost next to nothing there.

    n_all    N·K
    indices  [R] of them; None: all
    """

    n_all: int
    indices: Tensor | None = None

    def pick(self, x: Tensor) -> Tensor:
        """[N·K, …] → [R, …]."""
        return x if self.indices is None else x.index_select(0, self.indices)

    def spread(self, x: Tensor) -> Tensor:
        """[R, …] → [N·K, …], zero where nothing is computed."""
        if self.indices is None:
            return x
        return x.new_zeros(self.n_all, *x.shape[1:]).index_copy_(0, self.indices, x)

    def drop_others(self, live: Tensor) -> None:
        """Write −∞, for no hypothesis, over all others of [N, K]."""
        if self.indices is None:
            return
        kept = torch.zeros(self.n_all, dtype=torch.bool, device=live.device)
        kept.index_fill_(0, self.indices, value=True)
        live.masked_fill_(~kept.view(live.shape), -torch.inf)


class _Linear(NamedTuple):
    """Several linear layers of one input, side by side: weight [outputs, D], bias [outputs]."""

    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, layers: Sequence[nn.Linear]) -> _Linear:
        zeros = layers[0].weight.new_zeros
        biases = [zeros(one.out_features) if one.bias is None else one.bias for one in layers]
        return cls(
            torch.cat([layer.weight.detach() for layer in layers]),
            torch.cat([bias.detach() for bias in biases]),
        )

    def __call__(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)


class Fed(NamedTuple):
    """The result of a position.

    logits     [R, V], in float32 where the device can
    ancestors  [N, K, T·K] as in `State`, including the present position
    """

    logits: Tensor
    ancestors: Tensor


class StepDecoder:
    """The decoder of a model, for steps on a `State`."""

    def __init__(self, model: Transformer) -> None:
        self._model = model
        self._layers: list[DecoderLayer] = list(model.decoder.layers)
        self._self_projections = [_of_self(layer) for layer in self._layers]
        crossing = [layer.cross_attention for layer in self._layers]
        self._memory_projection = _Linear.of(
            [linear for one in crossing for linear in (one.w_k, one.w_v)]
        )
        joined = [*self._self_projections, self._memory_projection]
        self.n_bytes = sum(one.weight.nbytes + one.bias.nbytes for one in joined)

    def project_memory(self, memory: Tensor) -> Sequence[Tensor]:
        """[B, S, D], the encoder's output → per layer [B, S, 2D], keys beside values."""
        return self._memory_projection(memory).chunk(len(self._layers), dim=-1)

    def feed(self, state: State, rows: Rows) -> Fed:
        """Feed the latest tokens of R rows.

        Only writes into the cache, so that a failed step may be repeated.
        """
        model, (n, k, n_target) = self._model, (*state.live.shape, state.sizes.target)
        embedded: Tensor = model.target_embedding(state.latest)
        # The length of an empty slot may exceed this window.
        length = state.length.clamp(max=n_target - 1)
        x = rows.pick((embedded + model.positions.table[length][:, None]).flatten(0, 1))
        slots = torch.arange(n, device=x.device)
        position = torch.arange(n_target * k, device=x.device)
        lane = torch.arange(k, device=x.device)
        fed = position == (length[:, None] * k + lane)[:, :, None]
        ancestors = state.ancestors | fed
        # Attention multiplies masked values by zero, so they must be finite.
        is_dead = state.live.isneginf().flatten()[:, None]
        known = torch.arange(state.sizes.source, device=x.device) < state.source_length[:, None]
        # Additive masks: from boolean ones, every layer would compute them again.
        past_mask = _additive(ancestors, x.dtype)[:, None]
        source_mask = _additive(known, x.dtype)[:, None, None]

        def attend(
            attention: MultiHeadAttention, query: Tensor, key_value: Tensor, mask: Tensor
        ) -> Tensor:
            """query [N·K, D] over [N, P, 2D], which the K hypotheses of a slot share → [R, D]."""
            heads = key_value.unflatten(-1, (2, attention.n_heads, -1)).transpose(1, 3)
            queries = query.view(n, k, attention.n_heads, -1).transpose(1, 2)
            attended = functional.scaled_dot_product_attention(
                queries, heads[:, :, 0], heads[:, :, 1], attn_mask=mask
            )
            joined = attended.transpose(1, 2).flatten(2).flatten(0, 1)
            output: Tensor = attention.w_o(rows.pick(joined))
            return output

        for layer, project, cache, memory in zip(
            self._layers, self._self_projections, state.cache, state.memory, strict=True
        ):

            def recur(x: Tensor, project: _Linear = project, cache: Tensor = cache) -> Tensor:
                candidate, forget = rows.spread(project(x)).chunk(2, dim=-1)
                forget = forget.sigmoid()
                before = _latest_states(cache, state.ancestors, length, k)
                cell = forget * before + (1 - forget) * candidate
                kept = functional.pad(cell.masked_fill(is_dead, 0), (0, cell.shape[-1]))
                cache.index_put_((slots, length), kept.view(n, -1))
                return rows.pick(cell.relu())

            def attend_self(
                x: Tensor,
                layer: DecoderLayer = layer,
                project: _Linear = project,
                cache: Tensor = cache,
            ) -> Tensor:
                projected = rows.spread(project(x))
                query, key_value = projected.split((x.shape[-1], 2 * x.shape[-1]), dim=-1)
                key_value = key_value.masked_fill(is_dead, 0)
                cache.index_put_((slots, length), key_value.view(n, -1))
                past = cache.unflatten(-1, (k, -1)).flatten(1, 2)
                return attend(layer.self_attention, query, past, past_mask)

            def attend_cross(
                x: Tensor, layer: DecoderLayer = layer, memory: Tensor = memory
            ) -> Tensor:
                query = rows.spread(layer.cross_attention.w_q(x))
                return attend(layer.cross_attention, query, memory, source_mask)

            x = layer.self_attention_sublayer(x, recur if layer.is_recurrent else attend_self)
            x = layer.cross_attention_sublayer(x, attend_cross)
            x = layer.feed_forward_sublayer(x, layer.feed_forward)
        return Fed(_logits(model.output, model.decoder.norm(x)), ancestors)


_WIDENING = {"cuda"}
"""Devices whose products of half precision may be in float32."""


def _logits(output: OutputProjection, x: Tensor) -> Tensor:
    """[R, D] → [R, V], on GPUs in float32.

    In bfloat16, logits of 8 to 16 would be multiples of 1/16, and the best two often equal.
    """
    if x.dtype == torch.float32 or x.device.type not in _WIDENING:
        logits: Tensor = output(x)
        return logits
    logits = torch.mm(x, output.weight.t(), out_dtype=torch.float32)
    return logits if output.bias is None else logits.add_(output.bias)


def _of_self(layer: DecoderLayer) -> _Linear:
    """Return the maps of a layer's input: queries, keys and values, or W and W_f of an SSRU."""
    if layer.is_recurrent:
        return _Linear.of([layer.ssru.w, layer.ssru.w_f])
    attention = layer.self_attention
    return _Linear.of([attention.w_q, attention.w_k, attention.w_v])


def _latest_states(cache: Tensor, ancestors: Tensor, length: Tensor, k: int) -> Tensor:
    """Return the state of each hypothesis's last position [N·K, D]; zeros at the first step.

    A state is the first half of a position of `cache` [N, T, K·2D]; see `State`.
    """
    slots = torch.arange(len(length), device=length.device)
    at = (length - 1).clamp(min=0)
    states = cache[slots, at].unflatten(-1, (k, 2, -1))[:, :, 0]
    own = ancestors.unflatten(-1, (-1, k))[slots, :, at]  # one of K for each hypothesis
    own = own & (length > 0)[:, None, None]
    found: Tensor = (own.to(cache.dtype) @ states).flatten(0, 1)
    return found


def _additive(visible: Tensor, dtype: torch.dtype) -> Tensor:
    """Return 0 where a mask is True, else −∞."""
    return torch.zeros_like(visible, dtype=dtype).masked_fill_(~visible, -torch.inf)
