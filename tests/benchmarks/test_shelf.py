import json
from pathlib import Path

import pytest

from benchmarks import shelf
from benchmarks.shelf import loads_in, make_shelf
from model.checkpoint.shelf_folder import find_checkpoints


def test_loads_are_read_from_the_log() -> None:
    event = {"event": "model loaded", "seconds": 0.5, "all_bytes": 7,
             "timestamp": "2026-11-23T10:00:01Z"}  # fmt: skip
    [(start, end, n_bytes)] = loads_in(f"INFO\n{json.dumps(event)}\n{{}}\n")
    assert (end - start, n_bytes) == (0.5, 7)


def test_the_pairs_are_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "N_PAIRS", 4)
    monkeypatch.setattr(shelf, "N_PIECES", 64)
    codes = make_shelf(tmp_path)
    found, unusable = find_checkpoints(tmp_path)
    assert not unusable
    assert {pair for one in found for pair in one.config.directions} == {
        pair for code in codes for pair in (("en", code), (code, "en"))
    }
