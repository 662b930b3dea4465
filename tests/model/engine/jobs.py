"""Inputs and checks of engine tests: models, rules, random jobs, hypotheses."""

from collections.abc import Sequence
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
import torch

from model.decoding.beam import beam_search
from model.decoding.hypothesis import Hypothesis, Outcome, SearchOptions
from model.decoding.rules import HuggingFaceRule, MarianRule, Rule
from model.engine.cpu.forward.weights import Precision
from model.engine.explanations import AttentionKind
from model.engine.protocol import Job
from model.transformer.transformer import Transformer

PENALTIES = (0.0, 0.6, 2.0)

RULES: dict[str, Rule | None] = {
    "attend": None,
    "transformers": HuggingFaceRule(),
    "transformers, at once": HuggingFaceRule(early_stopping=True),
    "transformers, never": HuggingFaceRule(early_stopping="never"),
    "transformers, ended": HuggingFaceRule(force_end=True, max_target_tokens=9),
    "transformers, ended at once": HuggingFaceRule(early_stopping=True, force_end=True),
    "transformers, never, ended": HuggingFaceRule("never", force_end=True, renormalise=True),
    "transformers, renormalised": HuggingFaceRule(renormalise=True),
    "Marian": MarianRule(unk_id=3),
    "Marian, all tokens": MarianRule(unk_id=None, max_length_factor=1.5),
}
FOREIGN_RULES = {name: rule for name, rule in RULES.items() if rule}

PRECISIONS = pytest.mark.parametrize("precision", get_args(Precision))
KINDS = pytest.mark.parametrize("kind", get_args(AttentionKind))

UNTIED: dict[str, Any] = {"share_embeddings": False, "tie_output": False}

FAMILY: dict[str, dict[str, Any]] = {
    "post-norm, ReLU": {"norm_order": "post"},
    "pre-norm, ReLU": {"norm_order": "pre"},
    "post-norm, GELU": {"norm_order": "post", "activation": "gelu"},
    "pre-norm, GELU": {"norm_order": "pre", "activation": "gelu"},
    "swish, halves": {"activation": "swish", "position_layout": "halves"},
    "quick GELU, marian": {"activation": "quick_gelu", "position_layout": "marian"},
    "separate vocabularies": {"source_vocab_size": 30, "target_vocab_size": 150, **UNTIED},
    "one vocabulary, untied": {"tie_output": False},
    "a large vocabulary": {"source_vocab_size": 700, "target_vocab_size": 700},
    "no bias": {"output_bias": False},
    "a tiny vocabulary": {"source_vocab_size": 4, "target_vocab_size": 4},
    "other heads and width in the decoder": {"decoder_n_heads": 2, "decoder_d_ff": 70},
    "a narrower decoder": {"d_ff": 200, "decoder_d_ff": 6, "activation": "gelu"},
    "heads of 36": {"d_model": 72, "n_heads": 2, "d_ff": 100, "norm_order": "pre", "spread": 0.1},
    "heads of 80": {"d_model": 160, "n_heads": 2, "d_ff": 64, "spread": 0.06},
    "two short of a group of four": {"d_model": 18, "n_heads": 3, "d_ff": 30},
    "unscaled": {"scale_embedding": False},
    "positions from 2 on": {"position_layout": "marian", "position_offset": 2},
    "another epsilon": {"norm_epsilon": 0.1},
    "ids elsewhere": {"pad_id": 11, "eos_id": 0, "start_id": 11},
    "started with a word": {"start_id": 7},
    "a recurrent decoder": {"autoregression": "ssru", "position_layout": "marian"},
    "a recurrent decoder, pre-norm": {"autoregression": "ssru", "norm_order": "pre"},
    "a recurrent decoder, heads of 12": {"autoregression": "ssru", "d_model": 48, "n_heads": 4},
    "one layer, then three": {"n_encoder_layers": 1, "n_decoder_layers": 3},
}


def draw_source(model: Transformer, choose: np.random.Generator, length: int) -> tuple[int, ...]:
    """Draw `length` tokens without padding; the last one ends the sentence."""
    config = model.config
    special = {config.pad_id, config.eos_id}
    usable = [token for token in range(config.source_vocab_size) if token not in special]
    return (*choose.choice(usable, length - 1).tolist(), config.eos_id)


def draw_jobs(
    model: Transformer, n_jobs: int, seed: int, rules: Sequence[Rule | None] = (None,)
) -> list[Job]:
    """Return jobs of all lengths with all options: beam sizes, n best, penalties, limits, rules."""
    choose = np.random.default_rng(seed)
    longest = model.config.max_length
    limits = [1, 2, 7, longest, None, None]
    jobs = []
    for number in range(n_jobs):
        beam = int(choose.integers(1, 9))
        options = SearchOptions(
            beam_size=beam,
            n_best=int(choose.integers(1, beam + 1)),
            length_penalty=float(choose.choice(PENALTIES)),
            max_target_tokens=limits[choose.integers(len(limits))],
            rule=rules[number % len(rules)],
        )
        length = int(choose.integers(1, longest + 1))
        jobs.append(Job(number, draw_source(model, choose, length), options))
    return jobs


def every_option(model: Transformer, seed: int, rule: Rule | None = None) -> list[Job]:
    """A sentence for each of a grid of options, with all n best; one of maximum length."""
    choose = np.random.default_rng(seed)
    longest = model.config.max_length
    grid = product((1, 2, 4, 8), PENALTIES)
    limits = (1, 2, None, longest, None)
    return [
        Job(
            number,
            draw_source(model, choose, int(choose.integers(1, 12)) if number else longest),
            SearchOptions(beam, beam, penalty, limits[number % len(limits)], rule),
        )
        for number, (beam, penalty) in enumerate(grid)
    ]


def limited(job_id: int, limit: int, beam: int = 1, source: tuple[int, ...] = (5, 6, 1)) -> Job:
    return Job(job_id, source, SearchOptions(beam, max_target_tokens=limit))


def hypotheses(outcome: Outcome) -> list[Hypothesis]:
    assert isinstance(outcome, list)
    return outcome


def reference(model: Transformer, job: Job) -> list[Hypothesis]:
    (found,) = beam_search(model, torch.tensor([job.source_ids]), job.options)
    return found


def check_same(outcome: Outcome, expected: Sequence[Hypothesis]) -> None:
    """Check for equal tokens, and equal scores within the rounding of float32."""
    assert isinstance(outcome, list)
    assert [(one.ids, one.capped) for one in outcome] == [(one.ids, one.capped) for one in expected]
    for one, other in zip(outcome, expected, strict=True):
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-4)
        assert one.score == pytest.approx(other.score, abs=1e-4)
