"""§3.1, figure 1 right: the decoder, for whole targets and for one position at a time."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from model.transformer.attention import KeyValue, MultiHeadAttention
from model.transformer.config import TransformerConfig
from model.transformer.feed_forward import FeedForward
from model.transformer.layer_stack import LayerStack
from model.transformer.ssru import SSRU, RecurrentState
from model.transformer.sublayer import final_norm, sublayer


@dataclass
class LayerCache:
    """One layer's state: `past` changes with each step, `memory`'s keys and values are constant.

    `past` has the keys and values of all earlier positions, or the state of an SSRU.
    """

    past: KeyValue | RecurrentState
    memory: KeyValue

    def select(self, rows: Tensor) -> LayerCache:
        """Return the cache of the given rows, in that order."""
        return LayerCache(self.past.select(rows), self.memory.select(rows))


@dataclass
class DecoderCache:
    """The state of steps 0 … t−1 for decoding step t, of R rows (hypotheses); `length` is t."""

    layers: list[LayerCache]
    memory_mask: Tensor
    length: int = 0

    def select(self, rows: Tensor) -> DecoderCache:
        """Return the cache of the given rows, in that order; rows may repeat."""
        return DecoderCache(
            layers=[layer.select(rows) for layer in self.layers],
            memory_mask=self.memory_mask.index_select(0, rows),
            length=self.length,
        )

    def reorder(self, rows: Tensor) -> None:
        """Let row i continue from row rows[i], which must belong to the same sentence."""
        for layer in self.layers:
            layer.past = layer.past.select(rows)


class DecoderLayer(nn.Module):
    """Masked self-attention, encoder-decoder attention and feed-forward, each with a residual.

    With `autoregression` "ssru", a recurrent unit replaces the self-attention.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        n_heads = config.n_heads_of_decoder
        self.is_recurrent = config.is_recurrent
        if self.is_recurrent:
            self.ssru = SSRU(config.d_model)
        else:
            self.self_attention = MultiHeadAttention(config.d_model, n_heads, config.dropout)
        self.cross_attention = MultiHeadAttention(config.d_model, n_heads, config.dropout)
        self.feed_forward = FeedForward(
            config.d_model, config.d_ff_of_decoder, config.activation, config.dropout
        )
        self.self_attention_sublayer = sublayer(config)
        self.cross_attention_sublayer = sublayer(config)
        self.feed_forward_sublayer = sublayer(config)

    def forward(
        self,
        x: Tensor,
        memory: KeyValue,
        memory_mask: Tensor,
        self_record: list[Tensor] | None,
        cross_record: list[Tensor] | None,
    ) -> Tensor:
        """Whole targets: x [B, T, D] with keys and values of the memory → [B, T, D]."""

        def attend_self(x: Tensor) -> Tensor:
            if self.is_recurrent:
                return self._recur(x, self.ssru.start(x))[0]
            key_value = self.self_attention.project_key_value(x)
            # Targets are padded on the right, which the causal mask hides from real positions.
            output: Tensor = self.self_attention(x, key_value, is_causal=True, record=self_record)
            return output

        x = self.self_attention_sublayer(x, attend_self)
        return self._attend_memory(x, memory, memory_mask, cross_record)

    def step(self, x: Tensor, cache: LayerCache, memory_mask: Tensor) -> Tensor:
        """One position: x [R, 1, D] → [R, 1, D]. Extends `cache`."""

        def attend_self(x: Tensor) -> Tensor:
            if isinstance(cache.past, RecurrentState):
                output, cache.past = self._recur(x, cache.past)
                return output
            cache.past = cache.past.append(self.self_attention.project_key_value(x))
            attended: Tensor = self.self_attention(x, cache.past)
            return attended

        x = self.self_attention_sublayer(x, attend_self)
        return self._attend_memory(x, cache.memory, memory_mask, None)

    def start(self, memory: Tensor) -> LayerCache:
        """Return the cache before the first step, with keys and values of the memory."""
        projected = self.cross_attention.project_key_value(memory)
        past = self.ssru.start(memory) if self.is_recurrent else projected.none()
        return LayerCache(past, projected)

    def _recur(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        output: tuple[Tensor, RecurrentState] = self.ssru(x, state)
        return output

    def _attend_memory(
        self, x: Tensor, memory: KeyValue, memory_mask: Tensor, record: list[Tensor] | None
    ) -> Tensor:
        def attend_cross(x: Tensor) -> Tensor:
            output: Tensor = self.cross_attention(x, memory, memory_mask, record=record)
            return output

        x = self.cross_attention_sublayer(x, attend_cross)
        x = self.feed_forward_sublayer(x, self.feed_forward)
        return x


class Decoder(nn.Module):
    """A stack of N identical layers."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers: LayerStack[DecoderLayer] = LayerStack(
            DecoderLayer(config) for _ in range(config.n_decoder_layers)
        )
        self.norm = final_norm(config.d_model, config.norm_order, config.norm_epsilon)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        self_record: list[Tensor] | None = None,
        cross_record: list[Tensor] | None = None,
    ) -> Tensor:
        """Whole targets: x [B, T, D], memory [B, S, D], mask [B, 1, 1, S] → [B, T, D]."""
        for layer in self.layers:
            key_value = layer.cross_attention.project_key_value(memory)
            x = layer(x, key_value, memory_mask, self_record, cross_record)
        output: Tensor = self.norm(x)
        return output

    def start(self, memory: Tensor, memory_mask: Tensor) -> DecoderCache:
        """Return the cache before the first step, with keys and values of the memory."""
        return DecoderCache([layer.start(memory) for layer in self.layers], memory_mask)

    def step(self, x: Tensor, cache: DecoderCache) -> Tensor:
        """One position: x [R, 1, D] → [R, 1, D]. Extends `cache`."""
        for layer, layer_cache in zip(self.layers, cache.layers, strict=True):
            x = layer.step(x, layer_cache, cache.memory_mask)
        cache.length += 1
        output: Tensor = self.norm(x)
        return output
