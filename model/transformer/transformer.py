"""All of figure 1: connects embeddings, encoder, decoder and output projection."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from model.transformer.attention import padding_mask
from model.transformer.config import TransformerConfig
from model.transformer.decoder import Decoder, DecoderCache
from model.transformer.embedding import OutputProjection, PositionalEncoding, TokenEmbedding
from model.transformer.encoder import Encoder


class Memory(NamedTuple):
    """The encoder's output: states [B, S, D] and mask [B, 1, 1, S], True at real tokens."""

    states: Tensor
    mask: Tensor


@dataclass
class AttentionRecord:
    """Weights of every attention that ran with this record, one tensor [B, H, T, S] per layer."""

    encoder: list[Tensor] = field(default_factory=list)
    decoder: list[Tensor] = field(default_factory=list)
    cross: list[Tensor] = field(default_factory=list)


class Transformer(nn.Module):
    """The encoder-decoder of Vaswani et al. 2017: ids in, logits out."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        width, pad_id, scaled = config.d_model, config.pad_id, config.scale_embedding
        self.source_embedding = TokenEmbedding(config.source_vocab_size, width, pad_id, scaled)
        self.target_embedding = (
            self.source_embedding
            if config.share_embeddings
            else TokenEmbedding(config.target_vocab_size, width, pad_id, scaled)
        )
        self.positions = PositionalEncoding(
            config.max_length,
            config.d_model,
            config.position_layout,
            config.dropout,
            config.position_offset,
        )
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output = OutputProjection(config.target_vocab_size, config.d_model, config.output_bias)
        self._tie_output()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise Glorot-uniform matrices, embeddings of variance 1 / d_model, zero biases."""
        if self.output.weight.is_meta:  # nothing to initialise, and torch would take a second
            return
        for name, parameter in self.named_parameters():
            if name.endswith("embedding.weight") or name == "output.weight":
                nn.init.normal_(parameter, std=1 / math.sqrt(self.config.d_model))
            elif parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
        with torch.no_grad():
            self.source_embedding.weight[self.config.pad_id] = 0
            self.target_embedding.weight[self.config.pad_id] = 0

    def encode(self, source_ids: Tensor, record: AttentionRecord | None = None) -> Memory:
        """Right-padded ids [B, S] → memory."""
        mask = padding_mask(source_ids, self.config.pad_id)
        x = self.positions(self.source_embedding(source_ids))
        return Memory(self.encoder(x, mask, record and record.encoder), mask)

    def decode(
        self, memory: Memory, target_ids: Tensor, record: AttentionRecord | None = None
    ) -> Tensor:
        """Teacher forcing: target ids [B, T] starting with start_id → hidden states [B, T, D]."""
        x = self.positions(self.target_embedding(target_ids))
        hidden: Tensor = self.decoder(
            x, memory.states, memory.mask, record and record.decoder, record and record.cross
        )
        return hidden

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """[B, S] and [B, T] → logits [B, T, V]; position t predicts target token t + 1."""
        logits: Tensor = self.output(self.decode(self.encode(source_ids), target_ids))
        return logits

    def start(self, memory: Memory) -> DecoderCache:
        """Return the decoder's cache before the first step, with one row per sentence."""
        return self.decoder.start(memory.states, memory.mask)

    def step(self, ids: Tensor, cache: DecoderCache) -> Tensor:
        """The latest token of every row [R] → logits for the next [R, V]. Extends `cache`."""
        x = self.positions(self.target_embedding(ids[:, None]), first=cache.length)
        logits: Tensor = self.output(self.decoder.step(x, cache)[:, 0])
        return logits

    def clear_padding_gradient(self) -> None:
        """Keep the padding row zero in training; a tied output projection would change it.

        The decoder may start with it, and other engines (Marian's) assume that it is zero.
        """
        for embedding in {self.source_embedding, self.target_embedding}:
            if embedding.weight.grad is not None:
                embedding.weight.grad[self.config.pad_id] = 0

    def materialise(self, device: torch.device) -> None:
        """Allocate memory for a model created on the meta device, to load weights into.

        `to_empty` would untie shared matrices, leave the position table unset, and make torch
        import its compiler, which arithmetic on the meta device needs.
        """
        for module in self.modules():
            for name, parameter in list(module.named_parameters(recurse=False)):
                setattr(module, name, nn.Parameter(torch.empty(parameter.shape, device=device)))
        self._tie_output()
        self.positions.rebuild(device)

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return self.output.weight.device

    def n_parameters(self) -> int:
        """Number of trainable parameters, counting shared matrices once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def _tie_output(self) -> None:
        if self.config.tie_output:
            self.output.weight = self.target_embedding.weight


def transformer_without_weights(config: TransformerConfig) -> Transformer:
    """Return a model whose tensors have shapes but no storage; see `Transformer.materialise`."""
    with torch.device("meta"):
        return Transformer(config)
