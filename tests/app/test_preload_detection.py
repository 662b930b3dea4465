"""Language detection is loaded at start, so that no text blocks the event loop by loading it."""

from functools import partial
from pathlib import Path

import pytest

from app.languages.detection import DetectedLanguage, LanguageDetector
from app.loading import load_runtime
from app.observe.metrics import Metrics
from app.runtime import Lifecycle
from app.settings import Settings


async def test_detects_texts_of_several_scripts_before_the_first_request(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def detect(self: LanguageDetector, text: str) -> list[DetectedLanguage]:
        seen.append(text)
        return []

    monkeypatch.setattr(LanguageDetector, "detect", detect)
    settings, metrics = Settings.parse(checkpoint=(tiny_checkpoint,), device="cpu"), Metrics()
    lifecycle = Lifecycle(partial(load_runtime, settings, metrics), metrics)
    await lifecycle.start()
    await lifecycle.stop()
    assert {text.isascii() for text in seen} == {True, False}
