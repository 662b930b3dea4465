import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from model.decoding.beam import beam_search
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.decoding.rules import HuggingFaceRule, MarianRule
from model.transformer.transformer import Transformer
from tests.model.make_model import MakeModel

DrawSources = Callable[..., Tensor]


@dataclass(frozen=True)
class Path:
    """A partial or complete translation of the reference below."""

    ids: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()

    @property
    def total(self) -> float:
        return sum(self.log_probs)

    def normalised(self, alpha: float) -> float:
        return float(self.total / ((5 + len(self.ids)) / 6) ** alpha)


@torch.no_grad()
def next_log_probs(model: Transformer, source: list[int], paths: list[Path]) -> list[list[float]]:
    """Teacher-forced, without a cache: the distribution after each path."""
    fed = torch.tensor([[model.config.start_id, *path.ids] for path in paths])
    sources = torch.tensor([source] * len(paths))
    log_probs: list[list[float]] = model(sources, fed)[:, -1].log_softmax(-1).tolist()
    return log_probs


def reference_search(
    model: Transformer, source: list[int], options: SearchOptions
) -> list[tuple[Path, bool]]:
    """The documented rule for one sentence with lists, and no early end: paths, and if capped."""
    config, beam = model.config, options.beam_size
    limit = min(options.max_target_tokens or len(source) + 50, config.max_length)
    live, finished = [Path()], list[Path]()
    for _ in range(limit):
        candidates = [
            Path((*path.ids, token), (*path.log_probs, log_prob))
            for path, row in zip(live, next_log_probs(model, source, live), strict=True)
            for token, log_prob in enumerate(row)
            if token != config.pad_id
        ]
        candidates.sort(key=lambda path: -path.total)
        best = candidates[: 2 * beam]
        finished += [path for path in best[:beam] if path.ids[-1] == config.eos_id]
        live = [path for path in best if path.ids[-1] != config.eos_id][:beam]
    finished.sort(key=lambda path: -path.normalised(options.length_penalty))
    answers = [(path, False) for path in finished] + [(path, True) for path in live]
    return answers[: options.n_best]


def real_ids(model: Transformer, source: Tensor) -> list[int]:
    ids: list[int] = source[source != model.config.pad_id].tolist()
    return ids


OPTIONS = [
    SearchOptions(beam_size=2, length_penalty=0.0),
    SearchOptions(beam_size=3, n_best=3, length_penalty=0.6),
    SearchOptions(beam_size=4, n_best=2, length_penalty=1.0),
    SearchOptions(beam_size=5, n_best=5, length_penalty=0.6, max_target_tokens=3),
    SearchOptions(beam_size=4, n_best=4, length_penalty=1.0, max_target_tokens=1),
    SearchOptions(beam_size=8, n_best=8, length_penalty=0.0, max_target_tokens=5),
]


def check_against_reference(
    model: Transformer, sources: Tensor, options: SearchOptions
) -> list[Hypothesis]:
    """Compare every answer with that of the reference, and return all."""
    answers = beam_search(model, sources, options)
    for source, found in zip(sources, answers, strict=True):
        expected = reference_search(model, real_ids(model, source), options)
        assert len(found) == len(expected)
        for hypothesis, (path, capped) in zip(found, expected, strict=True):
            assert hypothesis.capped == capped
            assert hypothesis.ids == (path.ids if capped else path.ids[:-1])
            assert hypothesis.log_probs == pytest.approx(path.log_probs, abs=1e-4)
            score = path.normalised(options.length_penalty)
            assert hypothesis.score == pytest.approx(score, abs=1e-4)
    return [hypothesis for found in answers for hypothesis in found]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_equals_a_slow_search_that_never_ends_early(
    make_confident_model: MakeModel, draw_sources: DrawSources, options: SearchOptions
) -> None:
    ends = set()
    for seed in range(10):
        model = make_confident_model(seed=seed, eos_bias=(0.0, 1.0, 2.5)[seed % 3], max_length=10)
        answers = check_against_reference(model, draw_sources(model, 4, seed), options)
        ends |= {hypothesis.capped for hypothesis in answers}
    assert ends == {True, False}, "both kinds of end must have been compared"


@pytest.mark.parametrize("alpha", [1.0, 3.0])
def test_the_early_end_waits_for_longer_hypotheses_that_may_still_win(
    make_confident_model: MakeModel, draw_sources: DrawSources, alpha: float
) -> None:
    # Words are probable and the end is not: long hypotheses gain by their length.
    options = SearchOptions(beam_size=4, length_penalty=alpha)
    for seed in range(20):
        model = make_confident_model(seed=seed, certainty=3.0, eos_bias=2.0, max_length=16)
        check_against_reference(model, draw_sources(model, 4, seed), options)


@pytest.mark.parametrize("beam_size", [2, 4])
def test_sentences_of_a_batch_have_limits_of_their_own(
    make_confident_model: MakeModel, draw_sources: DrawSources, beam_size: int
) -> None:
    options = SearchOptions(beam_size=beam_size, n_best=beam_size)
    model = make_confident_model(seed=4, eos_bias=-8.0, max_length=64)
    sources = draw_sources(model, 5, 4)
    answers = check_against_reference(model, sources, options)
    lengths = {len(hypothesis.ids) for hypothesis in answers if hypothesis.capped}
    assert lengths == {len(real_ids(model, source)) + 50 for source in sources}
    assert len(lengths) > 1


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_a_beam_of_everything_finds_the_best_sentences_there_are(
    make_confident_model: MakeModel, draw_sources: DrawSources, alpha: float
) -> None:
    limit, words = 3, (2, 3, 4)
    options = SearchOptions(
        beam_size=5**limit, n_best=10, length_penalty=alpha, max_target_tokens=limit
    )
    for seed in range(3):
        model = make_confident_model(
            seed=seed, source_vocab_size=5, target_vocab_size=5, start_id=2, max_length=10
        )
        sources = draw_sources(model, 2, seed)
        for source, found in zip(sources, beam_search(model, sources, options), strict=True):
            every = [
                (*ids, model.config.eos_id)
                for length in range(limit)
                for ids in itertools.product(words, repeat=length)
            ]
            scored = [score(model, real_ids(model, source), ids, alpha) for ids in every]
            best = sorted(zip(scored, every, strict=True), reverse=True)[:10]
            assert [hypothesis.ids for hypothesis in found] == [ids[:-1] for _, ids in best]
            assert [one.score for one in found] == pytest.approx([s for s, _ in best], abs=1e-4)


@torch.no_grad()
def score(model: Transformer, source: list[int], ids: tuple[int, ...], alpha: float) -> float:
    fed = torch.tensor([[model.config.start_id, *ids[:-1]]])
    log_probs = model(torch.tensor([source]), fed)[0].log_softmax(-1)
    total = log_probs.gather(1, torch.tensor(ids)[:, None]).sum().item()
    return float(total / ((5 + len(ids)) / 6) ** alpha)


RULES = [
    None,
    HuggingFaceRule(),
    HuggingFaceRule(early_stopping=True, force_end=True),
    HuggingFaceRule(early_stopping="never", renormalise=True),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_batch_gives_what_each_sentence_gives_alone(
    make_confident_model: MakeModel,
    draw_sources: DrawSources,
    rule: HuggingFaceRule | None,
    beam_size: int,
) -> None:
    options = SearchOptions(beam_size, beam_size, rule=rule)
    for seed in range(6):
        model = make_confident_model(seed=seed, eos_bias=1.5)
        sources = draw_sources(model, 5, seed)
        for source, together in zip(sources, beam_search(model, sources, options), strict=True):
            (alone,) = beam_search(model, torch.tensor([real_ids(model, source)]), options)
            assert [one.ids for one in together] == [one.ids for one in alone]
            assert [one.capped for one in together] == [one.capped for one in alone]
            for one, other in zip(together, alone, strict=True):
                assert one.score == pytest.approx(other.score, abs=1e-4)
                assert one.log_probs == pytest.approx(other.log_probs, abs=1e-4)


@pytest.mark.parametrize("beam_size", [1, 5])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 10.0])
def test_every_answer_satisfies_the_contract(
    make_confident_model: MakeModel, draw_sources: DrawSources, beam_size: int, alpha: float
) -> None:
    for seed in range(10):
        model = make_confident_model(seed=seed, eos_bias=float(seed % 3), max_length=9)
        assert model.output.bias is not None
        with torch.no_grad():
            model.output.bias[model.config.pad_id] = 3.0
        options = SearchOptions(beam_size=beam_size, n_best=beam_size, length_penalty=alpha)
        for found in beam_search(model, draw_sources(model, 4, seed), options):
            assert len(found) == beam_size
            assert len({(one.ids, one.capped) for one in found}) == beam_size
            assert found == sorted(found, key=lambda one: (one.capped, -one.score))
            for one in found:
                check_contract(one, model, alpha)


def check_contract(one: Hypothesis, model: Transformer, alpha: float) -> None:
    config = model.config
    assert not {config.pad_id, config.eos_id} & set(one.ids)
    assert len(one.log_probs) == len(one.ids) + (not one.capped)
    assert len(one.log_probs) <= config.max_length
    assert one.capped == (len(one.ids) == config.max_length)
    assert all(log_prob <= 0 for log_prob in one.log_probs)
    normalisation = ((5 + len(one.log_probs)) / 6) ** alpha
    assert one.score == pytest.approx(sum(one.log_probs) / normalisation)


def test_fewer_hypotheses_if_none_is_left(
    make_confident_model: MakeModel, draw_sources: DrawSources
) -> None:
    # Three tokens: padding, end and one word. Two steps: "", "w", and "w w" cut at the limit.
    model = make_confident_model(source_vocab_size=3, target_vocab_size=3, start_id=2)
    options = SearchOptions(beam_size=8, n_best=8, max_target_tokens=2)
    for found in beam_search(model, draw_sources(model, 2, 0), options):
        assert {(one.ids, one.capped) for one in found} == {
            ((), False), ((2,), False), ((2, 2), True)
        }  # fmt: skip


def test_capped_hypotheses_come_after_finished_ones_whatever_their_score(
    make_confident_model: MakeModel, draw_sources: DrawSources
) -> None:
    options = SearchOptions(beam_size=6, n_best=6, length_penalty=0.0, max_target_tokens=3)
    behind = 0
    for seed in range(10):
        model = make_confident_model(seed=seed)
        for found in beam_search(model, draw_sources(model, 4, seed), options):
            finished = [one.score for one in found if not one.capped]
            capped = [one.score for one in found if one.capped]
            assert [one.capped for one in found] == [False] * len(finished) + [True] * len(capped)
            behind += bool(finished and capped and capped[0] > finished[-1])
    assert behind, "no sentence had a capped hypothesis of higher score"


def test_n_best_only_adds_to_the_list(
    make_confident_model: MakeModel, draw_sources: DrawSources
) -> None:
    options = SearchOptions(beam_size=4, n_best=4)
    for seed in range(6):
        model = make_confident_model(seed=seed, eos_bias=1.5, max_length=10)
        sources = draw_sources(model, 4, seed)
        every = beam_search(model, sources, options)
        for n_best in (1, 2, 3):
            fewer = beam_search(model, sources, replace(options, n_best=n_best))
            assert [[one.ids for one in found] for found in fewer] == [
                [one.ids for one in found[:n_best]] for found in every
            ]


def marian_search(model: Transformer, source: list[int], options: SearchOptions) -> list[Path]:
    """Marian's loop for one sentence with lists, and no early end."""
    rule = options.rule
    assert isinstance(rule, MarianRule)
    limit = options.max_target_tokens or rule.token_limit(len(source))
    live, finished, width = [Path()], list[Path](), options.beam_size
    for length in range(1, min(limit, model.config.max_length) + 1):
        candidates = [
            Path((*path.ids, token), (*path.log_probs, log_prob))
            for path, row in zip(live, next_log_probs(model, source, live), strict=True)
            for token, log_prob in enumerate(row)
            if token not in (model.config.pad_id, rule.unk_id)
        ]
        best = sorted(candidates, key=lambda path: -path.total)[:width]
        is_last = length == min(limit, model.config.max_length)
        finished += [path for path in best if path.ids[-1] == model.config.eos_id or is_last]
        live = [path for path in best if path.ids[-1] != model.config.eos_id]
        width = len(live)
        if not live:
            break
    finished.sort(key=lambda path: -path.total / len(path.ids) ** options.length_penalty)
    return finished[: options.n_best]


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(1, 1, 1.0, rule=MarianRule(5)),
        SearchOptions(4, 1, 0.6, rule=MarianRule(5)),
        SearchOptions(4, 4, 1.0, rule=MarianRule(None, 1.5)),
        SearchOptions(6, 6, 0.0, max_target_tokens=4, rule=MarianRule(5)),
    ],
    ids=str,
)
def test_by_marians_rule_it_equals_a_slow_search_that_never_ends_early(
    make_confident_model: MakeModel, draw_sources: DrawSources, options: SearchOptions
) -> None:
    ends = set()
    for seed in range(8):
        model = make_confident_model(seed=seed, eos_bias=(0.0, 1.0, 2.5)[seed % 3], max_length=12)
        sources = draw_sources(model, 3, seed)
        for source, found in zip(sources, beam_search(model, sources, options), strict=True):
            expected = marian_search(model, real_ids(model, source), options)
            ended = [path.ids[-1] == model.config.eos_id for path in expected]
            assert [one.capped for one in found] == [not end for end in ended]
            assert [one.ids for one in found] == [
                path.ids[: len(path.ids) - end] for path, end in zip(expected, ended, strict=True)
            ]
            scores = [path.total / len(path.ids) ** options.length_penalty for path in expected]
            assert [one.score for one in found] == pytest.approx(scores, abs=1e-4)
            ends |= set(ended)
    assert ends == {True, False}, "both kinds of end must have been compared"


def test_never_stopping_early_is_never_worse_than_stopping_at_once(
    make_confident_model: MakeModel, draw_sources: DrawSources
) -> None:
    better = 0
    for seed in range(12):
        model = make_confident_model(seed=seed, eos_bias=1.0, max_length=16)
        sources = draw_sources(model, 6, seed)
        at_once, never = (
            beam_search(model, sources, SearchOptions(3, 1, 1.0, 12, HuggingFaceRule(stopping)))
            for stopping in (True, "never")
        )
        for (first,), (second,) in zip(at_once, never, strict=True):
            assert second.score >= first.score - 1e-5
            better += second.score > first.score + 1e-3
    assert better, "the two must differ somewhere"
