"""§3.1, figure 1 left: the encoder."""

from torch import Tensor, nn

from model.transformer.attention import MultiHeadAttention
from model.transformer.config import TransformerConfig
from model.transformer.feed_forward import FeedForward
from model.transformer.layer_stack import LayerStack
from model.transformer.sublayer import final_norm, sublayer


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a residual connection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.n_heads, config.dropout)
        self.feed_forward = FeedForward(
            config.d_model, config.d_ff, config.activation, config.dropout
        )
        self.attention_sublayer = sublayer(config)
        self.feed_forward_sublayer = sublayer(config)

    def forward(self, x: Tensor, mask: Tensor, record: list[Tensor] | None) -> Tensor:
        """[B, S, D], mask [B, 1, 1, S] → [B, S, D]."""

        def attend(x: Tensor) -> Tensor:
            key_value = self.self_attention.project_key_value(x)
            output: Tensor = self.self_attention(x, key_value, mask, record=record)
            return output

        x = self.attention_sublayer(x, attend)
        x = self.feed_forward_sublayer(x, self.feed_forward)
        return x


class Encoder(nn.Module):
    """A stack of N identical layers."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers: LayerStack[EncoderLayer] = LayerStack(
            EncoderLayer(config) for _ in range(config.n_encoder_layers)
        )
        self.norm = final_norm(config.d_model, config.norm_order, config.norm_epsilon)

    def forward(self, x: Tensor, mask: Tensor, record: list[Tensor] | None = None) -> Tensor:
        """[B, S, D], mask [B, 1, 1, S] → memory [B, S, D]; `record` as in `MultiHeadAttention`."""
        for layer in self.layers:
            x = layer(x, mask, record)
        output: Tensor = self.norm(x)
        return output
