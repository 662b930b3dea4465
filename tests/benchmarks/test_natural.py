"""Random models with natural lengths."""

from pathlib import Path

from benchmarks.decode import Batches
from benchmarks.natural import lengths_of_sentences, sources_of_lengths, write_natural
from benchmarks.sentences import read_sentences
from model.checkpoint.reader import load_checkpoint

WORDS = ["a " * (3 + 7 * n % 22) for n in range(192)]


def test_translations_end_near_the_length_of_their_source(tmp_path: Path) -> None:
    seen = write_natural(tmp_path / "natural", "small", 600, WORDS, 96)
    assert seen.ended > 0.9
    assert 0.7 < seen.ratio < 1.4
    assert seen.deviation < 5
    loaded = load_checkpoint(tmp_path / "natural")
    shape = loaded.config.transformer
    assert (loaded.config.name, shape.target_vocab_size) == ("natural", 600)
    texts = read_sentences(tmp_path / "natural.txt")
    assert len(texts) == len(WORDS)
    assert {path.name for path in tmp_path.iterdir()} == {"natural", "natural.txt"}
    lengths = lengths_of_sentences(WORDS)
    assert [len(ids) for ids in sources_of_lengths(loaded, lengths)] == lengths


def test_every_worker_gets_enough_batches() -> None:
    batches = Batches(192, 8, (1, 4, 64), (1,))
    assert [batches.n_sentences(batch, threads=2) for batch in (64, 4, 1)] == [1024, 192, 48]
    assert batches.most(threads=2) == 1024
