import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks import page
from benchmarks.page import typing_users
from tests.app.fake_engine import FakeEngine
from tests.app.listening import listening

FIELDS: dict[str, str | int] = {"source": "en", "target": "fr"}


def test_pausing_users_get_answers(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "KEY_INTERVAL", 0.4)
    engine = FakeEngine()
    with listening(engine, tiny_checkpoint) as url:
        port = urlsplit(url).port or 0
        answered = asyncio.run(typing_users(port, ["the cat sees"], FIELDS, 3, 3.0))
    assert answered
    assert min(answered) >= 1e3 * page.PAUSE


def test_typing_users_send_nothing(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PAUSE", 60.0)
    with listening(FakeEngine(), tiny_checkpoint) as url:
        port = urlsplit(url).port or 0
        assert asyncio.run(typing_users(port, ["the cat"], FIELDS, 2, 1.0)) == []


def test_a_row_has_median_and_p95() -> None:
    row = page._row("what", list(range(1, 101)))
    assert (row["n"], row["p50 ms"]) == (100, 50.5)
    assert 95 <= float(row["p95 ms"] or 0) <= 97
