"""Facts that must not change arrive from imported models of every architecture."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.eager import EagerEngine
from model.interop.marian_import import import_firefox, import_m2m100, import_marian
from model.translator import Translator
from tests.app.translation.segments.test_facts import FACTS
from tests.firefox_model import word_vocabulary, write_model

LANGUAGES = (
    "en", "de", "es", "it", "pt", "nl", "pl", "cs", "sv", "da", "fi", "hu", "ro", "ru", "tr", "id",
    "vi", "ja", "ko", "ar",
)  # fmt: skip
ARCHITECTURES = ("attend", "Marian", "M2M-100", "NLLB", "Firefox")
Make = Callable[..., Path]


@pytest.fixture(params=ARCHITECTURES)
def random_model(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tiny_checkpoint: Path,
    make_folder: Make,
    make_multilingual: Make,
) -> Checkpoint:
    folder = tmp_path / "imported"
    if request.param == "attend":
        folder = tiny_checkpoint
    elif request.param == "Marian":
        import_marian(make_folder(), folder)
    elif request.param == "Firefox":
        write_model(tmp_path / "firefox", "test", (word_vocabulary(120),), (120, 120), int8=False)
        import_firefox(tmp_path / "firefox", folder)
    else:
        kind = "nllb" if request.param == "NLLB" else "m2m100"
        import_m2m100(make_multilingual(kind=kind), folder)
    return load_checkpoint(folder)


def test_facts_are_kept(random_model: Checkpoint) -> None:
    engines = [EagerEngine(load_model(random_model))]
    longest = random_model.config.transformer.max_length
    options = SearchOptions(beam_size=2, max_target_tokens=6)
    random = Random(7)
    for language in LANGUAGES:
        found = random.sample(FACTS, 3)
        direction = (language, "fr")
        reading = Reading(random_model.tokenizer, direction, longest, options)
        texts = Translator(partial(SegmentedText, reading=reading), engines).stream(
            text for _, text, _ in found
        )
        for (kind, source, fact), text in zip(found, texts, strict=True):
            assert fact in text.answer().after, (kind, source, language)
