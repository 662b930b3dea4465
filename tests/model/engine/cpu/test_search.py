import numpy as np
import pytest

from model.engine.cpu.forward.slots import Slots, make_slots
from model.engine.cpu.search import Candidates, _merge, make_candidates

FIRST_ROW = 3


def sentence(live: list[float], log_probs: list[list[float]]) -> tuple[Slots, Candidates]:
    """Fill slot 1 with live hypotheses and the continuations of each."""
    slots, candidates = make_slots(2, 8), make_candidates(10, 2, 8)
    slots.n_live[1] = len(live)
    slots.live[1, : len(live)] = live
    for row, continuations in enumerate(log_probs, start=FIRST_ROW):
        candidates.next.n_best[row] = len(continuations)
        candidates.next.log_probs[row, : len(continuations)] = continuations
    return slots, candidates


def merged(live: list[float], log_probs: list[list[float]]) -> list[tuple[float, int, int]]:
    """(score, lane, rank) of the continuations, in order."""
    slots, candidates = sentence(live, log_probs)
    n = _merge(1, FIRST_ROW, slots, candidates)
    lanes = candidates.best_row[:n] - FIRST_ROW
    found = zip(candidates.best_score[:n], lanes, candidates.best_rank[:n], strict=True)
    return [(float(score), int(lane), int(rank)) for score, lane, rank in found]


def test_the_best_continuations_of_all_hypotheses_in_order() -> None:
    found = merged([-1, -2], [[-0.5, -3, -4, -9], [-0.25, -0.5, -1, -7]])
    assert found == [(-1.5, 0, 0), (-2.25, 1, 0), (-2.5, 1, 1), (-3, 1, 2)]


def test_ties_go_to_the_better_hypothesis_and_then_the_lower_token() -> None:
    found = merged([-1, -2], [[-1, -1, -2], [0, 0, -1]])
    assert found == [(-2, 0, 0), (-2, 0, 1), (-2, 1, 0)]
    assert merged([-1, -1], [[-1, -1], [-1, -1]]) == [(-2, 0, 0), (-2, 0, 1)]


def test_tokens_without_probability_are_left_out() -> None:
    found = merged([-1, -2], [[-1, -np.inf, -np.inf], [-1, -np.inf, -np.inf]])
    assert found == [(-2, 0, 0), (-3, 1, 0)]
    assert merged([0], [[-np.inf] * 2]) == []


@pytest.mark.parametrize("spoilt", range(3))
def test_nan_comes_first_whichever_hypothesis_it_is_of(spoilt: int) -> None:
    log_probs = [[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0] for _ in range(3)]
    log_probs[spoilt] = [np.nan] * 6
    assert np.isnan(merged([-1, -1.5, -2], log_probs)[0][0])
