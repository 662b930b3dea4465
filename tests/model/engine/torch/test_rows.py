"""Only hypotheses that may still be among the n best are computed, on a CPU."""

import numpy as np
import pytest
import torch

from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import HuggingFaceRule, MarianRule, Rule, traits_of
from model.engine.torch.decoder import Fed, Rows, StepDecoder
from model.engine.torch.history import BeamHistory
from model.engine.torch.state import State
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import run
from tests.model.engine.jobs import limited
from tests.model.engine.torch.running import torch_engine


def test_rows_are_picked_and_spread() -> None:
    x = torch.arange(8.0).view(4, 2)
    some = Rows(4, torch.tensor([1, 3]))
    assert some.pick(x).tolist() == [[2, 3], [6, 7]]
    assert some.spread(some.pick(x)).tolist() == [[0, 0], [2, 3], [0, 0], [6, 7]]
    assert Rows(4).pick(x) is x
    assert Rows(4).spread(x) is x
    live = torch.zeros(2, 2)
    Rows(4).drop_others(live)
    assert live.tolist() == [[0, 0], [0, 0]]
    some.drop_others(live)
    assert live.tolist() == [[-torch.inf, 0], [-torch.inf, 0]]


@pytest.mark.parametrize(
    ("rule", "n_expected"),
    [
        (None, [1, 3, 0]),
        (HuggingFaceRule(early_stopping="never"), [1, 3, 0]),
        (HuggingFaceRule(), [1, 4, 0]),
        (MarianRule(None), [1, 4, 0]),
    ],
)
def test_hopeful_hypotheses_by_hand(rule: Rule | None, n_expected: list[int]) -> None:
    options = SearchOptions(4, n_best=2, length_penalty=0.0, rule=rule)
    history = BeamHistory(3, 4, 8, traits_of(rule), eos_id=0)
    history.start(0, options, limit=5)
    history.start(1, options, limit=5)
    history.live[1] = [-1, -2, -2.5, -4]
    history.score[1] = [
        -0.5,
        -4,
        -6,
        -np.inf,
    ]  # the second-best score equals that of the last live one
    assert history.hopeful(0, 3).sum(axis=1).tolist() == n_expected
    assert history.hopeful(1, 2).sum() == n_expected[1]
    history.active[1] = False
    assert not history.hopeful(1, 2).any()


def test_a_sentence_starts_in_one_row(
    endless: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[int] = []
    feed = StepDecoder.feed

    def spy(decoder: StepDecoder, state: State, rows: Rows) -> Fed:
        found = feed(decoder, state, rows)
        computed.append(len(found.logits))
        return found

    monkeypatch.setattr(StepDecoder, "feed", spy)
    run(torch_engine(endless), [limited(n, 3, beam=4, source=(5, 3 + n, 1)) for n in range(3)])
    assert computed == [3, 12, 12]


def test_empty_turns_compute_nothing(endless: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn may consist of empty slots."""
    engine = torch_engine(endless)
    jobs = [limited(n, 20, beam=2, source=(5, 3 + n, 1)) for n in range(8)]
    engine.admit(jobs)
    engine.interrupt()
    engine.step()
    [batch] = engine._batches.values()
    batch._slots_at_once = 2
    engine.cancel([0, 1, 4])
    outcomes = dict(engine.step())
    while engine.busy:
        outcomes |= dict(engine.step())
    assert outcomes.keys() == {2, 3, 5, 6, 7}
