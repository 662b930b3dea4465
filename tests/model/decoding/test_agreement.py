from collections.abc import Generator

import pytest
import torch

from model.decoding.agreement import agreed_ids, finished
from model.decoding.beam import beam_search, beam_steps
from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import HuggingFaceRule, MarianRule
from tests.model.make_model import MakeModel

EOS, PAD = 1, 0


@pytest.mark.parametrize(
    ("rows", "agreed"),
    [
        ([[5, 6, 7]], [5, 6, 7]),
        ([[5, 6, 7], [5, 8, 7]], [5]),
        ([[5, 6], [8, 6]], []),
        ([[5, 6, EOS, PAD]], [5, 6]),
        ([[5, 6, EOS], [5, 6, 7]], [5, 6]),
        ([[5, EOS, PAD], [5, EOS, PAD]], [5]),
        ([[PAD]], []),
        ([], []),
    ],
)
def test_agreed_by_hand(rows: list[list[int]], agreed: list[int]) -> None:
    assert agreed_ids(rows, {EOS, PAD}) == agreed


def test_finished_is_what_a_generator_returns() -> None:
    def steps() -> Generator[int, None, str]:
        yield 1
        yield 2
        return "found"

    assert finished(steps()) == "found"


SOURCES = torch.tensor([[5, 6, 7, 1], [4, 1, 0, 0], [9, 8, 1, 0]])
OPTIONS = {
    "greedy": SearchOptions(1, max_target_tokens=9),
    "narrow": SearchOptions(2),
    "several": SearchOptions(3, 2, length_penalty=0.0),
    "transformers": SearchOptions(2, rule=HuggingFaceRule(force_end=True)),
    "transformers, never": SearchOptions(3, rule=HuggingFaceRule("never"), max_target_tokens=9),
    "transformers, greedy": SearchOptions(1, rule=HuggingFaceRule(renormalise=True)),
    "Marian": SearchOptions(3, rule=MarianRule(unk_id=7)),
    "Marian, greedy": SearchOptions(1, rule=MarianRule(unk_id=7)),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("seed", range(4))
def test_agreement_grows_to_the_answer(make_model: MakeModel, name: str, seed: int) -> None:
    model = make_model(seed=seed, max_length=14, spread=0.6)
    steps = beam_steps(model, SOURCES, OPTIONS[name])
    prefixes: list[list[list[int]]] = [[[]] for _ in SOURCES]
    while True:
        try:
            agreed = next(steps)
        except StopIteration as end:
            found = end.value
            break
        for before, now in zip(prefixes, agreed(), strict=True):
            before.append(now)
    assert found == beam_search(model, SOURCES, OPTIONS[name])
    for stages, (best, *_) in zip(prefixes, found, strict=True):
        for earlier, later in zip(stages, [*stages[1:], list(best.ids)], strict=True):
            assert later[: len(earlier)] == earlier
