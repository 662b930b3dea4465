"""Checkpoints with random weights: complete, but their translations are noise."""

import random
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch

from model.checkpoint.config import CheckpointConfig
from model.checkpoint.writer import save_checkpoint
from model.text.tokenizer import Tokenizer
from model.training.data.vocabulary import SMALLEST_VOCABULARY, train_tokenizer
from model.transformer.config import PRESETS, TransformerConfig, vocabulary_fields
from model.transformer.transformer import Transformer

_CARD = """# {name}

Random weights of the preset `{preset}`, written by `attend init`, for tests and benchmarks. Its
translations are noise.
"""


def write_random_checkpoint(
    folder: Path,
    preset: str,
    languages: tuple[str, str],
    sentences: Iterable[str] | None = None,
    seed: int = 1,
    *,
    vocab_size: int | None = None,
) -> int:
    """Write a checkpoint for both directions of two languages; return its number of parameters.

    The vocabulary has `vocab_size` or the preset's size, at least `SMALLEST_VOCABULARY`; it is
    learnt from `sentences` or by default from invented words. Equal arguments give equal
    checkpoints. Raises `CheckpointError`, and `TrainingError` if the sentences are too few for the
    vocabulary.
    """
    shape = PRESETS[preset]
    vocab_size = max(vocab_size or shape.source_vocab_size, SMALLEST_VOCABULARY)
    if sentences is None:
        sentences = _made_up_sentences(vocab_size, seed)
    tokenizer = _learn(sentences, languages, vocab_size)
    config = TransformerConfig.parse(
        shape.model_dump() | vocabulary_fields(vocab_size, tokenizer.pad_id, tokenizer.eos_id),
        preset,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Transformer(config)
    name = folder.resolve().name
    checkpoint = CheckpointConfig(
        name=name, directions=[languages, languages[::-1]], transformer=config
    )
    card = _CARD.format(name=name, preset=preset)
    weights = dict(model.named_parameters())
    training = {"preset": preset, "seed": seed}
    save_checkpoint(folder, checkpoint, weights, tokenizer, card, training)
    return model.n_parameters()


def _learn(sentences: Iterable[str], languages: Sequence[str], vocab_size: int) -> Tokenizer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sentencepiece.model"
        train_tokenizer(sentences, sorted(languages), vocab_size, path)
        return Tokenizer.load(path)


def _made_up_sentences(vocab_size: int, seed: int) -> Iterator[str]:
    """Yield enough distinct words of random syllables to learn a vocabulary of that size."""
    source = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < 5 * vocab_size:
        syllables = source.choice((1, 2, 2, 3, 3))
        words[
            "".join(source.choice(_ONSETS) + source.choice(_VOWELS) for _ in range(syllables))
        ] = None
    for sentence in map(" ".join, zip(*[iter(words)] * 10, strict=False)):
        # Twice, since a string that occurs once is not a candidate for a piece.
        yield sentence
        yield sentence.capitalize()


_ONSETS = (*"bcdfghjklmnprstvwxz", "br", "ch", "cl", "dr", "gr", "pl", "qu", "st", "th", "tr")
_VOWELS = (*"aeiouyéèàç", "ai", "ea", "ou")
