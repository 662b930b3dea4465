"""Language detection is loaded at start, so that no text blocks the event loop by loading it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.languages.detection import Detected, LanguageDetector
from app.loading import load_runtime
from app.observe.metrics import Metrics
from app.settings import Settings


@pytest.mark.parametrize("preload", [True, False])
def test_detects_texts_of_several_scripts_before_the_first_request(
    preload: bool, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def detect(self: LanguageDetector, text: str) -> list[Detected]:
        seen.append(text)
        return []

    monkeypatch.setattr(LanguageDetector, "detect", detect)
    load_runtime(
        Settings.parse(checkpoint=(tiny_checkpoint,), device="cpu", preload_detection=preload),
        Metrics(),
    )
    assert {text.isascii() for text in seen} == ({True, False} if preload else set())
