"""The reference of the constrained search: its hypotheses have all terms and good scores."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from model.decoding.beam import beam_search
from model.decoding.constrained import constrained_search
from model.decoding.constraints import FIRST, GLUED, Constraint, PieceEdges, Wording
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.decoding.rules import HuggingFaceRule
from model.transformer.transformer import Transformer
from tests.model.make_model import MakeModel

DrawSources = Callable[..., Tensor]

V = 12
NO_EDGES = PieceEdges.none(V)
RULES = (None, HuggingFaceRule(), HuggingFaceRule(early_stopping="never", force_end=True),
         HuggingFaceRule(early_stopping=True, renormalise=True))  # fmt: skip


def term(*ids: int) -> Constraint:
    return Constraint((Wording(ids),))


def edges(before: Sequence[int] = (), behind: Sequence[int] = ()) -> PieceEdges:
    flags = np.zeros((2, V), np.bool_)
    flags[0, list(before)] = flags[1, list(behind)] = True
    return PieceEdges(*flags)


def search(
    model: Transformer, options: SearchOptions, piece_edges: PieceEdges = NO_EDGES
) -> list[Hypothesis]:
    return constrained_search(model, torch.tensor([[5, 6, 7, 1]]), options, piece_edges)


def contains_terms(ids: Sequence[int], *terms: Sequence[int]) -> bool:
    """Whether the terms occur in some order, without overlap."""
    if not terms:
        return True
    return any(
        contains_terms(
            ids[at + len(one) :], *(other for place, other in enumerate(terms) if place != index)
        )
        for index, one in enumerate(terms)
        for at in range(len(ids))
        if tuple(ids[at : at + len(one)]) == tuple(one)
    )


def test_the_judge_of_these_tests() -> None:
    assert contains_terms((1, 2, 3, 4), (3, 4), (1, 2))
    assert not contains_terms((1, 2, 3), (1, 2), (2, 3))
    assert not contains_terms((1, 2), (1,), (1,))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_every_hypothesis_has_all_terms(
    make_confident_model: MakeModel, seed: int, beam: int, rule: HuggingFaceRule | None
) -> None:
    model = make_confident_model(seed=seed, eos_bias=2.0)
    terms = [(4, 9), (11,), (4, 3, 5), (11,)]
    options = SearchOptions(
        beam, n_best=beam, max_target_tokens=14, rule=rule,
        constraints=tuple(term(*one) for one in terms),
    )  # fmt: skip
    found = search(model, options)
    assert len(found) == beam
    assert len({(one.ids, one.capped) for one in found}) == beam
    for one in found:
        assert contains_terms(one.ids, *terms)


@torch.no_grad()
def best_of_all(
    model: Transformer, limit: int, options: SearchOptions, fits: Callable[[Sequence[int]], bool]
) -> float:
    """Return the best score of all valid sequences, by exhaustive search."""
    config = model.config
    words = [token for token in range(config.target_vocab_size)
             if token not in (config.pad_id, config.eos_id)]  # fmt: skip
    best = -float("inf")
    for n in range(limit):
        rows = [(*ids, config.eos_id) for ids in itertools.product(words, repeat=n) if fits(ids)]
        if not rows:
            continue
        target = torch.tensor(rows)
        fed = torch.cat((torch.full((len(rows), 1), config.start_id), target[:, :-1]), dim=1)
        log_probs = model(torch.tensor([[5, 6, 7, 1]]).expand(len(rows), -1), fed).log_softmax(-1)
        scores = log_probs.gather(2, target[:, :, None]).sum(dim=(1, 2))
        best = max(best, float(scores.max()) / options.normalisation(n + 1))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_a_wide_search_finds_the_best_there_is(make_confident_model: MakeModel, seed: int) -> None:
    model = make_confident_model(
        seed=seed, eos_bias=1.0, target_vocab_size=7, share_embeddings=False, tie_output=False
    )
    options = SearchOptions(32, max_target_tokens=5, constraints=(term(4, 6), term(3)))
    [found] = constrained_search(model, torch.tensor([[5, 6, 7, 1]]), options, PieceEdges.none(7))
    expected = best_of_all(model, 5, options, lambda ids: contains_terms(ids, (4, 6), (3,)))
    assert found.score == pytest.approx(expected, abs=1e-4)


def test_behind_a_term_no_letter_follows(make_confident_model: MakeModel) -> None:
    for seed in range(6):
        model = make_confident_model(seed=seed, eos_bias=-1.0)
        options = SearchOptions(3, n_best=3, max_target_tokens=9, constraints=(term(4, 9),))
        joining = set(range(2, 12, 2))
        for one in search(model, options, edges(before=sorted(joining - {4}))):
            at = [i for i in range(len(one.ids) - 1) if one.ids[i : i + 2] == (4, 9)]
            assert any(not set(one.ids[i + 2 : i + 3]) & (joining - {4}) for i in at)
        open_ended = Constraint((Wording((4, 9), closed=False),))
        options = SearchOptions(3, n_best=3, max_target_tokens=9, constraints=(open_ended,))
        assert search(model, options, edges(before=range(12))) == search(model, options)


def test_a_glued_wording_follows_no_letter(make_confident_model: MakeModel) -> None:
    """The other wording is improbable, and the glued one may follow only token 3."""
    model = make_confident_model(seed=1, eos_bias=0.0)
    assert model.output.bias is not None
    with torch.no_grad():
        model.output.bias[9] = -60
    glued = Constraint((Wording((9, 9)), Wording((4,), GLUED)))
    options = SearchOptions(4, max_target_tokens=9, constraints=(glued,))
    letters = [token for token in range(12) if token != 3]
    [found] = search(model, options, edges(behind=letters))
    assert 9 not in found.ids
    assert any(pair == (3, 4) for pair in itertools.pairwise(found.ids))


def test_a_wording_for_the_beginning_occurs_only_there(make_confident_model: MakeModel) -> None:
    model = make_confident_model(seed=2, eos_bias=0.0)
    assert model.output.bias is not None
    with torch.no_grad():
        model.output.bias[9] = -60
    first = Constraint((Wording((9,)), Wording((4, 5), FIRST)))
    [found] = search(model, SearchOptions(4, max_target_tokens=9, constraints=(first,)))
    assert found.ids[:2] == (4, 5)


def test_terms_fill_the_limit_to_its_end(make_confident_model: MakeModel) -> None:
    model = make_confident_model(seed=0)
    options = SearchOptions(2, max_target_tokens=5, constraints=(term(4, 9, 4), term(8, 8)))
    [found] = search(model, options)
    assert contains_terms(found.ids, (4, 9, 4), (8, 8))
    assert (len(found.ids), found.capped) == (5, True)


@pytest.mark.parametrize("beam", [1, 3])
def test_terms_that_exceed_the_limit_are_left_out(
    make_confident_model: MakeModel, beam: int
) -> None:
    model = make_confident_model(seed=3)
    options = SearchOptions(beam, max_target_tokens=2, constraints=(term(4, 9, 4),))
    free = SearchOptions(beam, max_target_tokens=2)
    assert search(model, options) == beam_search(model, torch.tensor([[5, 6, 7, 1]]), free)[0]


def test_without_any_probability_there_is_no_answer(make_confident_model: MakeModel) -> None:
    model = make_confident_model(seed=0)
    with torch.no_grad():
        model.output.weight[:] = torch.nan
    assert search(model, SearchOptions(2, max_target_tokens=6, constraints=(term(4),))) == []
