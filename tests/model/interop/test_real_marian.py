"""Compares n-best lists, ids and scores with Marian's, if MARIAN_PYTHON has `pymarian`."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, Job
from model.engine.run import run_jobs
from model.interop.languages import Languages
from model.interop.marian_import import import_marian
from model.text.marian_tokenizer import MarianTokenizer
from tests.cases import cases
from tests.marian_npz import NEWEST, npz_of, write_npz_folder

PYTHON = os.environ.get("MARIAN_PYTHON") or (sys.executable if find_spec("pymarian") else None)

# No pre-norm models: Marian decodes them differently from training (docs/interop.md).
MODELS: dict[str, dict[str, Any]] = cases(__file__, "models")
BEAMS = (1, 4, 6)
N_SENTENCES = 20
TOLERANCE = 1e-4

NBest = list[tuple[str, float]]
"""Pieces separated by spaces, and the score, best first."""

WORKER = """
import json, os, sys
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Marian writes to standard output
from pymarian import Translator
options, sentences = json.load(sys.stdin)
json.dump([Translator(one).translate(text) for one in options for text in sentences], out)
"""


def marians(model: str, sentences: Sequence[str]) -> dict[int, list[NBest]]:
    """Return Marian's n-best lists of each sentence, by beam."""
    # One sentence per batch, since the longest of a batch determines the token limit.
    alone = "--n-best --cpu-threads 1 --mini-batch 1 --maxi-batch 1"
    options = [f"{model} {alone} --beam-size {beam}" for beam in BEAMS]
    done = subprocess.run(
        [str(PYTHON), "-c", WORKER],
        input=json.dumps([options, sentences]),
        capture_output=True,
        text=True,
        check=True,
    )
    lists: list[NBest] = []
    for answer in json.loads(done.stdout):
        columns = [line.split(" ||| ") for line in answer.splitlines()]
        lists.append([(pieces, float(score)) for _, pieces, _, score in columns])
    n = len(sentences)
    return {beam: lists[index * n : (index + 1) * n] for index, beam in enumerate(BEAMS)}


def random_sources(tokenizer: MarianTokenizer) -> Iterator[tuple[int, ...]]:
    choose = random.Random(5)
    words = [
        token
        for token in range(tokenizer.source_vocab_size)
        if token not in (tokenizer.pad_id, tokenizer.eos_id) and not tokenizer.is_unknown(token)
    ]
    for _ in range(N_SENTENCES):
        yield (*choose.choices(words, k=choose.randint(1, 12)), tokenizer.eos_id)


@pytest.mark.skipif(PYTHON is None, reason="no pymarian here, and MARIAN_PYTHON is not set")
@pytest.mark.parametrize("name", MODELS)
def test_n_best_lists_and_scores_are_marians(name: str, tmp_path: Path) -> None:
    options = MODELS[name]
    theirs = tmp_path / "theirs"
    names = ("src.", "trg.") if options.get("separate") else ("", "")
    vocabularies = [str(theirs / f"opus.{side}vocab.yml") for side in names]
    write_npz_folder(theirs, version=NEWEST, vocabs=vocabularies, **options)
    import_marian(theirs, tmp_path / "ours", languages=Languages(("en",), ("fr",)))
    checkpoint = load_checkpoint(tmp_path / "ours")
    config = checkpoint.config
    tokenizer = MarianTokenizer.load(tmp_path / "ours", {}, separate="separate" in options)
    sources = list(random_sources(tokenizer))
    expected = marians(
        f"--models {npz_of(theirs)} --vocabs {' '.join(vocabularies)} "
        f"--normalize {config.length_penalty}",
        [" ".join(tokenizer.source_pieces[token] for token in ids[:-1]) for ids in sources],
    )
    engines: list[Engine] = [
        EagerEngine(load_model(checkpoint)),
        build_engines(checkpoint, "fp32")[0],
    ]
    for engine in engines:
        for beam in BEAMS:
            search = SearchOptions(beam, beam, config.length_penalty, rule=config.search_rule)
            found = dict(
                run_jobs([engine], [Job(index, ids, search) for index, ids in enumerate(sources)])
            )
            n_unlike = 0
            for index, hypotheses in enumerate(expected[beam]):
                outcome = found[index]
                assert not isinstance(outcome, Exception)
                texts = [
                    " ".join(tokenizer.target_pieces[token] for token in one.ids) for one in outcome
                ]
                assert texts[0] == hypotheses[0][0]
                if texts == [text for text, _ in hypotheses]:
                    scores = [one.score for one in outcome]
                    assert scores == pytest.approx(
                        [score for _, score in hypotheses], abs=TOLERANCE
                    )
                else:
                    n_unlike += 1
            # Two tokens at the edge of the beam may be equally probable within rounding.
            assert n_unlike <= 1
