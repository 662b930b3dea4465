from pathlib import Path

import numpy as np
import pytest

from benchmarks.word_for_word import partners, vocabulary, write_word_for_word
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.decoding.shortlist import Shortlist
from model.engine.build import build_engines
from model.engine.protocol import Job
from model.engine.run import run_jobs
from model.interop.languages import Languages
from model.interop.marian_import import import_firefox
from tests.firefox_model import word_vocabulary

N_PIECES = 300
PARTNER = np.array([0, 1, *np.arange(2, N_PIECES).reshape(-1, 2)[:, ::-1].flatten()])
RNG = np.random.default_rng(5)
SOURCES = [[*RNG.integers(2, N_PIECES, n).tolist(), 0] for n in (1, 2, 3, 7, 20, 60, 90)]


def written(folder: Path, shape: str, ratio: float) -> Checkpoint:
    write_word_for_word(folder / "m", shape, word_vocabulary(N_PIECES), PARTNER, ratio)
    import_firefox(folder / "m", folder / "c", languages=Languages(["en"], ["fr"]))
    return load_checkpoint(folder / "c")


def answers(checkpoint: Checkpoint, shortlist: Shortlist | None) -> list[Hypothesis]:
    options = SearchOptions(rule=checkpoint.config.search_rule, shortlist=shortlist)
    jobs = [Job(index, tuple(ids), options) for index, ids in enumerate(SOURCES)]
    found: dict[int, Hypothesis] = {}
    for finished in run_jobs(build_engines(checkpoint, "int8"), jobs):
        assert not isinstance(finished.outcome, BaseException)
        found[finished.job_id] = finished.outcome[0]
    return [found[index] for index in range(len(SOURCES))]


@pytest.mark.parametrize("shape", ["tiny", "base-memory", "base"])
def test_answers_are_the_partners_of_the_source(tmp_path: Path, shape: str) -> None:
    checkpoint = written(tmp_path, shape, ratio=1.0)
    assert checkpoint.shortlist
    for shortlist in (None, checkpoint.shortlist):
        for source, answer in zip(SOURCES, answers(checkpoint, shortlist), strict=True):
            assert list(answer.ids) == PARTNER[source[:-1]].tolist()
            assert not answer.capped


def test_answers_may_be_longer_than_their_sources(tmp_path: Path) -> None:
    checkpoint = written(tmp_path, "tiny", ratio=1.16)
    for source, answer in zip(SOURCES, answers(checkpoint, None), strict=True):
        assert abs(len(answer.ids) + 1 - 1.16 * len(source)) < 2
        assert not answer.capped


def test_partners_are_of_one_kind() -> None:
    found = partners(["</s>", "<unk>", "▁a", "b", "▁cd", "▁The", "e", "▁f", "."])
    assert found.tolist() == [0, 1, 4, 6, 2, 5, 3, 7, 8]


def test_the_vocabulary_has_no_symbols() -> None:
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_proto=vocabulary())
    assert processor.vocab_size() == 32_000
    assert [processor.id_to_piece(index) for index in (0, 1)] == ["</s>", "<unk>"]
    assert processor.pad_id() == -1
