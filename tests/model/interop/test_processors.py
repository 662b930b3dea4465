"""Logits processors of every engine equal those of `transformers` and CTranslate2."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ctranslate2
import pytest

from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.decoding.processors import LogitsProcessors
from model.engine.build import build_engines
from model.engine.protocol import Job
from model.engine.run import run_jobs
from model.interop.languages import Languages
from model.interop.marian_import import import_ctranslate2, import_m2m100, import_marian
from tests.ctranslate2_folder import FAMILIES, write_folder
from tests.m2m100_folder import MakeMultilingual
from tests.marian_folder import SOURCE_WORDS, MakeFolder, load_theirs
from tests.model.engine.jobs import hypotheses
from tests.model.interop import comparing

GENERATION: dict[str, dict[str, Any]] = {
    "min_length": {"min_length": 9},
    "min_new_tokens": {"min_new_tokens": 5},
    "no_repeat_ngram_size": {"no_repeat_ngram_size": 2},
    "no token twice": {"no_repeat_ngram_size": 1, "max_length": 12},
    "repetition_penalty": {"repetition_penalty": 1.7},
    "a reward of repetition": {"repetition_penalty": 0.6},
    "bad_words_ids": {"bad_words_ids": [[50], [11, 11], [61, 11], [0]]},
    "suppress_tokens": {"suppress_tokens": [11, 41]},
    "all": {"min_length": 4, "no_repeat_ngram_size": 3, "repetition_penalty": 1.3,
            "suppress_tokens": [5], "bad_words_ids": [[6, 7]], "forced_eos_token_id": None},
    "renormalised": {"no_repeat_ngram_size": 2, "min_length": 5, "renormalize_logits": True},
}  # fmt: skip
N_SENTENCES = 40


def generation(name: str, pad_id: int) -> dict[str, Any]:
    """Options, with `<pad>` as a bad word, which attend never chooses."""
    options = GENERATION[name]
    return options | {"bad_words_ids": [*options.get("bad_words_ids", []), [pad_id]]}


def sources(ours: Checkpoint, highest: int) -> list[list[int]]:
    choose = random.Random(4)
    eos_id = ours.config.transformer.eos_id
    return [
        [*choose.choices(range(6, highest), k=choose.randint(1, 9)), eos_id]
        for _ in range(N_SENTENCES)
    ]


def found_by_engine(
    ours: Checkpoint, rows: Sequence[Sequence[int]], options: SearchOptions
) -> list[Hypothesis]:
    jobs = [Job(number, tuple(row), options) for number, row in enumerate(rows)]
    outcomes = dict(run_jobs(build_engines(ours, "fp32"), jobs))
    return [hypotheses(outcomes[job.id])[0] for job in jobs]


@pytest.mark.parametrize("name", GENERATION)
@pytest.mark.parametrize("beam", [1, 3])
def test_marian_models_answer_as_in_transformers(
    make_folder: MakeFolder, tmp_path: Path, name: str, beam: int
) -> None:
    folder = make_folder(
        generation={"num_beams": beam, "early_stopping": False} | generation(name, 78)
    )
    import_marian(folder, tmp_path / "ours")
    ours, theirs = load_checkpoint(tmp_path / "ours"), load_theirs(folder)
    rows = sources(ours, ours.config.transformer.source_vocab_size - 1)
    source = comparing.padded(ours, rows)
    expected = comparing.generated(theirs, ours, source)
    found = comparing.found_by_us(ours, source)
    comparing.check_tokens(found, expected, ours)
    plain = comparing.found_by_us(ours, source, processors=LogitsProcessors())
    assert [one.ids for one in plain] != [one.ids for one in found]
    if beam > 1:
        comparing.check_scores(found, expected)
    options = comparing.search_options(ours)
    comparing.check_tokens(found_by_engine(ours, rows, options), expected, ours)


@pytest.mark.parametrize("name", GENERATION)
def test_m2m100_models_answer_as_in_transformers(
    make_multilingual: MakeMultilingual, tmp_path: Path, name: str
) -> None:
    folder = make_multilingual(generation={"num_beams": 3} | generation(name, 1))
    import_m2m100(folder, tmp_path / "ours")
    ours, theirs = load_checkpoint(tmp_path / "ours"), load_theirs(folder)
    rows = sources(ours, 110)
    source, first_id = comparing.padded(ours, rows), ours.tokenizer.first_id("de")
    expected = comparing.generated(theirs, ours, source, forced_bos_token_id=first_id)
    found = comparing.found_by_us(ours, source, first_id=first_id)
    comparing.check_tokens(found, expected, ours)
    comparing.check_scores(found, expected)
    options = comparing.search_options(ours, first_id=first_id)
    comparing.check_tokens(found_by_engine(ours, rows, options), expected, ours)


CT2: dict[str, tuple[dict[str, Any], LogitsProcessors]] = {
    "min_decoding_length": ({"min_decoding_length": 6}, LogitsProcessors(min_length=6)),
    "its defaults": ({}, LogitsProcessors(min_length=1)),
    "no_repeat_ngram_size": (
        {"no_repeat_ngram_size": 2, "min_decoding_length": 0},
        LogitsProcessors(no_repeat_ngram_size=2),
    ),
    "repetition_penalty": (
        {"repetition_penalty": 1.5}, LogitsProcessors(min_length=1, repetition_penalty=1.5),
    ),
    "suppress_sequences": ({}, LogitsProcessors(min_length=1)),
}  # fmt: skip


@pytest.mark.parametrize("family", ["opennmt-py", "marian", "nllb"])
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name", CT2)
def test_ctranslate2_folders_answer_as_in_ctranslate2(
    tmp_path: Path, family: str, beam: int, name: str
) -> None:
    kind = FAMILIES[family]
    folder = write_folder(tmp_path / "model", kind)
    is_multilingual = family == "nllb"
    languages = Languages() if is_multilingual else Languages(["en"], ["fr"])
    import_ctranslate2(folder, tmp_path / "ours", None, languages)
    ours = load_checkpoint(tmp_path / "ours")
    # A given first token counts towards CTranslate2's minimum.
    assert ours.config.logits_processors.min_length == (0 if is_multilingual else 1)
    choose, vocabulary = random.Random(6), SOURCE_WORDS.split()
    texts = [
        " ".join(choose.choices(vocabulary, k=choose.randint(1, 6))) for _ in range(N_SENTENCES)
    ]
    rows = [ours.tokenizer.source_ids(text, "fr", "en") for text in texts]
    theirs, processors = CT2[name]
    if is_multilingual:
        theirs = theirs | {"target_prefix": [["fra_Latn"]] * N_SENTENCES}
        processors = replace(processors, min_length=max(0, processors.min_length - 1))
    if name == "suppress_sequences":
        longest = max(found_by_engine(ours, rows, comparing.search_options(
            ours, beam_size=1, first_id=ours.tokenizer.first_id("fr"), max_target_tokens=20,
        )), key=lambda one: len(set(one.ids))).ids  # fmt: skip
        words = (longest[2:3], longest[3:5])
        spelt = [[ours.tokenizer.piece(token) for token in word] for word in words]
        theirs = theirs | {"suppress_sequences": spelt}
        processors = replace(processors, bad_words_ids=words)
    translator = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    tokens = [[ours.tokenizer.piece(token) for token in row] for row in rows]
    expected = translator.translate_batch(
        tokens, beam_size=beam, length_penalty=1, return_scores=True, max_decoding_length=40,
        **theirs,
    )  # fmt: skip
    options = comparing.search_options(
        ours, beam_size=beam, length_penalty=1.0, first_id=ours.tokenizer.first_id("fr"),
        max_target_tokens=40 - is_multilingual, processors=processors,
    )  # fmt: skip
    source = comparing.padded(ours, rows)
    changes = {
        key: getattr(options, key)
        for key in ("beam_size", "length_penalty", "first_id", "max_target_tokens", "processors")
    }
    for found in (
        comparing.found_by_us(ours, source, **changes),
        found_by_engine(ours, rows, options),
    ):
        for one, theirs_one in zip(found, expected, strict=True):
            hypothesis = theirs_one.hypotheses[0]
            pieces_found = [ours.tokenizer.piece(token) for token in one.ids]
            assert pieces_found == [
                "<blank>" if piece == "<pad>" else piece for piece in hypothesis
            ]
            if beam > 1:
                assert abs(one.score - theirs_one.scores[0]) < 1e-4
