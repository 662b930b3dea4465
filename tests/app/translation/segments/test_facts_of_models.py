"""Protected facts are preserved by imported models of every architecture."""

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
from model.errors import LanguageError
from model.interop.languages import Languages
from model.interop.marian_import import (
    import_argos,
    import_ctranslate2,
    import_firefox,
    import_m2m100,
    import_marian,
)
from model.translator import Translator
from tests.app.translation.segments.test_facts import FACTS
from tests.argos_package import write_bpe_package, write_package
from tests.ctranslate2_folder import FAMILIES, write_folder
from tests.firefox_model import word_vocabulary, write_model

LANGUAGES = (
    "en", "de", "es", "it", "pt", "nl", "pl", "cs", "sv", "da", "fi", "hu", "ro", "ru", "tr", "id",
    "vi", "ja", "ko", "ar",
)  # fmt: skip
ARCHITECTURES = (
    "attend", "Marian", "M2M-100", "NLLB", "Firefox", "CTranslate2", "CTranslate2, M2M-100",
    "Argos", "Argos, BPE",
)  # fmt: skip
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
    elif request.param.startswith("CTranslate2"):
        family = FAMILIES["m2m100" if "M2M" in request.param else "opennmt-py, untied"]
        write_folder(tmp_path / "model", family)
        import_ctranslate2(tmp_path / "model", folder, languages=Languages(["en"], ["fr"]))
    elif request.param.startswith("Argos"):
        if "BPE" in request.param:
            pytest.importorskip("sacremoses")
        write = write_bpe_package if "BPE" in request.param else write_package
        import_argos(write(tmp_path / "en_fr"), folder)
    else:
        kind = "nllb" if request.param == "NLLB" else "m2m100"
        import_m2m100(make_multilingual(kind=kind), folder)
    return load_checkpoint(folder)


def supports(model: Checkpoint, source: str, target: str) -> bool:
    """Whether a model has two languages; one without language tokens has any."""
    try:
        model.tokenizer.source_ids("a", target, source)
    except LanguageError:
        return False
    return True


def test_facts_are_kept(random_model: Checkpoint) -> None:
    engines = [EagerEngine(load_model(random_model))]
    longest = random_model.config.transformer.max_length
    options = SearchOptions(beam_size=2, max_target_tokens=6)
    random = Random(7)
    languages = [one for one in LANGUAGES if supports(random_model, one, "fr")]
    targets = [one for one in (*LANGUAGES, "fr") if supports(random_model, "en", one)]
    for number, language in enumerate(languages):
        found = random.sample(FACTS, 3)
        direction = (language, targets[(number + 7) % len(targets)])
        reading = Reading(random_model.tokenizer, direction, longest, options)
        texts = Translator(partial(SegmentedText, reading=reading), engines).stream(
            text for _, text, _ in found
        )
        for (kind, source, fact), text in zip(found, texts, strict=True):
            assert fact in text.answer().after, (kind, source, language)
