"""§3.1, §5.4: the residual connection and LayerNorm around every sub-layer."""

from collections.abc import Callable

from torch import Tensor, nn

from model.transformer.config import NormOrder, TransformerConfig


class Sublayer(nn.Module):
    """LayerNorm(x + Dropout(f(x))) as in the paper; pre-norm: x + Dropout(f(LayerNorm(x)))."""

    def __init__(
        self, d_model: int, norm_order: NormOrder, dropout: float, epsilon: float = 1e-5
    ) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model, epsilon)
        self.dropout = nn.Dropout(dropout)
        self.pre_norm = norm_order == "pre"

    def forward(self, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        """x [B, T, D] → [B, T, D]; `function` is the sub-layer proper."""
        output: Tensor
        if self.pre_norm:
            output = x + self.dropout(function(self.norm(x)))
        else:
            output = self.norm(x + self.dropout(function(x)))
        return output


def sublayer(config: TransformerConfig) -> Sublayer:
    """Return the sub-layer of a configuration."""
    return Sublayer(config.d_model, config.norm_order, config.dropout, config.norm_epsilon)


def final_norm(d_model: int, norm_order: NormOrder, epsilon: float = 1e-5) -> nn.Module:
    """Return the last LayerNorm of a pre-norm stack, whose residual sum is not normalised."""
    return nn.LayerNorm(d_model, epsilon) if norm_order == "pre" else nn.Identity()
