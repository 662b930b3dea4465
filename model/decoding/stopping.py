"""When a search of a sentence may end."""

from __future__ import annotations

from torch import Tensor

from model.decoding.hypothesis import SearchOptions


def unsettled(
    finished: Tensor, best_now: Tensor, best_at_limit: Tensor, options: SearchOptions
) -> Tensor:
    """[B], True where the search goes on; see `Traits.stopping`.

    finished [B, K], scores best first, −∞ where there is none yet; the best live hypothesis [B]
    scored as if it ended now, and as if it reached the token limit at no further cost.
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
