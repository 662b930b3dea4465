"""When a search ends: the token limits (§6.1) and the stopping rule."""

from torch import Tensor

from model.decoding.hypothesis import SearchOptions
from model.transformer.config import TransformerConfig


def token_limits(source_ids: Tensor, config: TransformerConfig, options: SearchOptions) -> Tensor:
    """[B, S] right-padded ids → [B], the maximum target tokens of each sentence."""
    lengths = (source_ids != config.pad_id).sum(dim=1).tolist()
    limits = [options.limits(length, config.max_length).n_tokens for length in lengths]
    return source_ids.new_tensor(limits)


def unsettled(
    finished: Tensor, best_now: Tensor, best_at_limit: Tensor, options: SearchOptions
) -> Tensor:
    """[B], True where the search continues; see `Traits.stopping`.

    finished [B, K] are scores, best first, −∞ for none; the best live hypothesis [B] is scored as
    if it ended now, and as if it reached the token limit at no further cost.
    """
    continues = finished[:, options.n_best - 1] < best_at_limit
    worst = finished[:, -1]
    match options.traits.stopping:
        case "settled":
            return continues
        case "full":
            return continues & worst.isneginf()
        case "settled at present":
            return continues & (worst < best_now)
