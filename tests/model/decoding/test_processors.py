import pytest
import torch

from model.decoding.distribution import drawn_numbers, next_log_probs
from model.decoding.hypothesis import SearchOptions
from model.decoding.processors import LogitsProcessors
from model.decoding.rules import HuggingFaceRule
from model.transformer.config import TransformerConfig

CONFIG = TransformerConfig(source_vocab_size=6, target_vocab_size=6, pad_id=5, eos_id=0, start_id=4)
LOGITS = torch.tensor([[0.1, 0.2, 0.3, 0.2, 0.2, 0.0]]).log()
TRANSFORMERS = HuggingFaceRule()
RECORDED = 0.790174605053907


def forbidden(processors: LogitsProcessors, *ids: int, start: tuple[int, ...] = ()) -> set[int]:
    return set(processors.forbidden(start, ids))


def probabilities(options: SearchOptions, *ids: int) -> list[float]:
    is_last = torch.tensor([False])
    found = next_log_probs(LOGITS.clone(), CONFIG, options, is_last, torch.tensor([ids]))
    return [round(p, 6) for p in found.exp()[0].tolist()]


def test_an_ngram_occurs_once() -> None:
    two = LogitsProcessors(no_repeat_ngram_size=2)
    assert forbidden(two) == forbidden(two, 1) == forbidden(two, 1, 2) == set()
    assert forbidden(two, 1, 2, 1) == {2}
    assert forbidden(two, 1, 2, 1, 3, 1) == {2, 3}
    assert forbidden(two, 1, 1) == {1}
    assert forbidden(two, 3, start=(3,)) == {3}
    three = LogitsProcessors(no_repeat_ngram_size=3)
    assert forbidden(three, 1, 2, 3, 1) == set()
    assert forbidden(three, 1, 2, 3, 1, 2) == {3}
    assert forbidden(LogitsProcessors(no_repeat_ngram_size=1), 1, 2, start=(4,)) == {1, 2, 4}


def test_bad_words_are_sequences() -> None:
    bad = LogitsProcessors(bad_words_ids=((3,), (1, 2), (1, 1, 2)))
    assert forbidden(bad) == {3}
    assert forbidden(bad, 1) == {3, 2}
    assert forbidden(bad, 1, 1) == {3, 2}
    assert forbidden(bad, 2) == {3}
    assert forbidden(bad, start=(1,)) == {3}


def test_forbidden_logits_share_their_probability_out() -> None:
    bad = LogitsProcessors(bad_words_ids=((2,),))
    shared = [0.142857, 0.285714, 0.0, 0.285714, 0.285714, 0.0]
    assert probabilities(SearchOptions(processors=bad), 1) == shared
    greedy = SearchOptions(1, processors=bad, rule=TRANSFORMERS)
    assert probabilities(greedy, 1) == shared
    beams = SearchOptions(processors=bad, rule=TRANSFORMERS)
    assert probabilities(beams, 1) == [0.1, 0.2, 0.0, 0.2, 0.2, 0.0]


def test_a_sentence_ends_when_it_is_long_enough() -> None:
    options = SearchOptions(processors=LogitsProcessors(min_length=2), rule=TRANSFORMERS)
    assert [probabilities(options, *ids)[0] for ids in ((), (1,), (1, 2))] == [0, 0, 0.1]
    given = SearchOptions(first_id=3, processors=LogitsProcessors(min_length=1), rule=TRANSFORMERS)
    assert [probabilities(given, *ids)[0] for ids in ((), (3,), (3, 2))] == [0, 0, 0.1]


def test_repeated_tokens_are_penalised() -> None:
    twice = LogitsProcessors(repetition_penalty=2.0)
    # Log-probabilities double: 0.2² and, of the start symbol, 0.2²; no other changes.
    options = SearchOptions(processors=twice, rule=TRANSFORMERS)
    assert probabilities(options, 1, 1) == [0.1, 0.04, 0.3, 0.2, 0.04, 0.0]
    # Of logits, which here are log-probabilities, the others' share grows: 0.84 in all.
    expected = [round(p / 0.84, 6) for p in (0.1, 0.04, 0.3, 0.2, 0.2, 0.0)]
    assert probabilities(SearchOptions(processors=twice), 1, 1) == expected


@pytest.mark.parametrize(("temperature", "share"), [(1.0, 0.3), (0.5, 0.409091)])
def test_tokens_are_drawn_by_their_probability(temperature: float, share: float) -> None:
    options = SearchOptions(1, temperature=temperature)
    is_last, none = torch.tensor([False] * 2000), torch.empty(2000, 0, dtype=torch.long)
    draws = (torch.arange(2000).double() / 2000)[:, None]
    found = next_log_probs(
        LOGITS.expand(2000, -1).clone(), CONFIG, options, is_last, none, draws=draws
    )
    assert (found.isfinite().sum(dim=1) == 1).all()
    assert float(found[:, 2].isfinite().float().mean()) == pytest.approx(share, abs=0.001)
    assert float(found[:, 2].max().exp()) == pytest.approx(0.3)


def test_draws_depend_on_the_seed_and_the_sentence() -> None:
    options = SearchOptions(1, temperature=1.0)
    rows = torch.tensor([[1, 2, 0, 5], [1, 2, 3, 0], [1, 2, 0, 5]])
    draws = drawn_numbers(rows, CONFIG, options)
    assert draws is not None
    assert torch.equal(draws[0], draws[2])
    assert not torch.equal(draws[0], draws[1])
    assert draws[0, :7].tolist() == options.draws([1, 2, 0], 7).tolist()
    assert options.draws([1, 2, 0], 7).tolist()[0] == pytest.approx(RECORDED, abs=1e-12)
    other = SearchOptions(1, temperature=1.0, seed=1).draws([1, 2, 0], 7)
    assert draws[0, :7].tolist() != other.tolist()
    assert drawn_numbers(rows, CONFIG, SearchOptions()) is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"min_length": -1}, "min_length must be at least 0, not -1"),
        ({"no_repeat_ngram_size": -1}, "no_repeat_ngram_size must be at least 0"),
        ({"repetition_penalty": 0.0}, "repetition_penalty must be above 0"),
        ({"repetition_penalty": float("nan")}, "repetition_penalty must be above 0"),
        ({"bad_words_ids": ((),)}, "bad_words_ids has an empty sequence"),
        ({"bad_words_ids": ((1,),) * 257}, "bad_words_ids has 257 tokens: at most 256"),
    ],
)
def test_values_are_checked(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LogitsProcessors(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -1.0}, "temperature must be 0 … 10, not -1"),
        ({"temperature": 1.0}, "temperature needs a beam_size of 1"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_sampling_is_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchOptions(**options)  # type: ignore[arg-type]
