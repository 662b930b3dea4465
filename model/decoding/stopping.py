"""The stopping rule of a search."""

from __future__ import annotations

from torch import Tensor

from model.decoding.hypothesis import SearchOptions


def unsettled(
    finished: Tensor, best_now: Tensor, best_at_limit: Tensor, options: SearchOptions
) -> Tensor:
    """[B], True where the search goes on; see `Traits.stopping`.

    finished [B, K] are scores, best first, −∞ for none; the best live hypothesis [B] is scored as
    if it ended now, and as if it reached the token limit at no further cost.
    """
    goes_on = finished[:, options.n_best - 1] < best_at_limit
    worst = finished[:, -1]
    match options.traits.stopping:
        case "settled":
            return goes_on
        case "full":
            return goes_on & worst.isneginf()
        case "settled at present":
            return goes_on & (worst < best_now)
