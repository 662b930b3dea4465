from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from model.decoding.beam import beam_search
from model.decoding.hypothesis import SearchOptions
from model.transformer.transformer import Transformer
from tests.model.make_model import MakeModel

DrawSources = Callable[..., Tensor]
GREEDY = SearchOptions(beam_size=1)


@torch.no_grad()
def uncached_argmax(model: Transformer, source: Tensor, limit: int) -> tuple[list[int], bool]:
    """Translate a sentence, recomputing the prefix at each step → tokens, and if capped."""
    config = model.config
    target = [config.start_id]
    for _ in range(limit):
        logits = model(source[None], torch.tensor([target]))[0, -1]
        logits[config.pad_id] = -torch.inf
        best = int(logits.argmax())
        if best == config.eos_id:
            return target[1:], False
        target.append(best)
    return target[1:], True


@pytest.mark.parametrize("max_target_tokens", [None, 1, 4])
def test_equals_an_uncached_argmax_loop_sentence_by_sentence(
    make_confident_model: MakeModel, draw_sources: DrawSources, max_target_tokens: int | None
) -> None:
    ends = set()
    for seed in range(12):
        model = make_confident_model(seed=seed, eos_bias=1.5)
        sources = draw_sources(model, 4, seed)
        options = SearchOptions(beam_size=1, max_target_tokens=max_target_tokens)
        found = beam_search(model, sources, options)
        for source, (hypothesis,) in zip(sources, found, strict=True):
            real = source[source != model.config.pad_id]
            ids, capped = uncached_argmax(model, real, max_target_tokens or 16)
            assert (list(hypothesis.ids), hypothesis.capped) == (ids, capped)
            ends.add(capped)
    assert ends == {True, False}


@torch.no_grad()
def test_log_probs_are_teacher_forced(
    make_confident_model: MakeModel, draw_sources: DrawSources
) -> None:
    model = make_confident_model(seed=3, eos_bias=1.5)
    sources = draw_sources(model, 6, 3)
    for source, (hypothesis,) in zip(sources, beam_search(model, sources, GREEDY), strict=True):
        produced = [*hypothesis.ids] + ([] if hypothesis.capped else [model.config.eos_id])
        fed = torch.tensor([[model.config.start_id, *produced[:-1]]])
        log_probs = model(source[None], fed)[0].log_softmax(-1)
        expected = log_probs.gather(1, torch.tensor(produced)[:, None])[:, 0].tolist()
        assert hypothesis.log_probs == pytest.approx(expected, abs=1e-4)
