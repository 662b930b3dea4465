"""§3.3: position-wise feed-forward network."""

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional

from model.transformer.config import Activation

_ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "quick_gelu": lambda x: x * (1.702 * x).sigmoid(),
    "swish": functional.silu,
}


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (equation 2); the max is the default activation.

    Deviation, as in the authors' tensor2tensor: also dropout after the activation.
    """

    def __init__(self, d_model: int, d_ff: int, activation: Activation, dropout: float) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation: Activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """[…, D] → […, D]."""
        hidden = _ACTIVATIONS[self.activation](self.w_1(x))
        output: Tensor = self.w_2(self.dropout(hidden))
        return output
