import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import memory, options, serve
from benchmarks.load import Outcome
from benchmarks.serve import rows_of
from benchmarks.server import Running, Server, running

INEXACT = 1.05
"""The kernel's peak counter lags behind the current size."""


def test_a_running_server_has_memory_and_is_stopped(stub: Server) -> None:
    with running(stub) as one:
        assert 0 < one.start < 20
        assert 1e6 < one.resident() <= INEXACT * one.resident_peak() < 1e9
    with pytest.raises(FileNotFoundError):
        one.resident()


def test_a_server_that_does_not_start_is_quoted() -> None:
    server = Server("x", "", [sys.executable, "-c", "raise SystemExit('no model')"])
    with pytest.raises(RuntimeError, match="x did not start: no model"), running(server):
        pass


def test_the_rows_of_a_load_by_hand(stub: Server) -> None:
    servers = [Running(replace(stub, name=name), 0, 0, 0.0) for name in ("ours", "other")]
    ours = [Outcome(30.0, 1.0, 2.0, 3.0, 9), Outcome(20.0, 1.0, 4.0, 3.0, 9)]
    other = [Outcome(10.0, 5.0, 8.0, 9.0, 9, {"429": 2}), Outcome(20.0, 5.0, 8.0, 9.0, 9)]
    first, second = rows_of("8 clients", servers, [ours, other])
    assert (first["Rate ×"], first["p95 ×"], first["Errors"]) == (1.0, 1.0, 0)
    assert (second["Rate ×"], second["p95 ×"], second["Errors"]) == (2.0, 0.375, 2)
    assert (second["Requests/s"], second["p50 ms"]) == (15.0, 5.0)


def test_attend_serves_under_load(tiny_checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    result = CliRunner().invoke(
        serve.main,
        [
            *("--checkpoint", str(tiny_checkpoint), "--no-peers", "--threads", "1"),
            *("--clients", "2", "--fraction", "0.5", "--seconds", "1.5", "--warm-up", "0.1"),
            *("--rounds", "1", "--beam", "1", "--json", str(file)),
        ],
        catch_exceptions=False,
    )
    assert result.exit_code == 0
    rows = json.loads(file.read_text())["rows"]
    assert rows[0]["Load"] == "2 clients"
    assert rows[1]["Load"].endswith("/s (50%)")
    assert all(row["Requests/s"] > 0 and row["Errors"] == 0 for row in rows)


def test_memory_of_the_engine_alone(tiny_checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    arguments = ["--checkpoint", str(tiny_checkpoint), "--no-peers", "--engine", "--threads", "1"]
    result = CliRunner().invoke(
        memory.main, [*arguments, "--json", str(file)], catch_exceptions=False
    )
    assert result.exit_code == 0
    (row,) = json.loads(file.read_text())["rows"]
    assert row["System"] == "attend"
    assert 10 < row["Loaded MB"] <= INEXACT * row["one sentence"] <= INEXACT**2 * row["all"]


def test_peers_that_are_not_installed_are_named_and_left_out(
    tiny_checkpoint: Path, tmp_path: Path, stub: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "attend_server", lambda *_: stub)
    monkeypatch.setattr(options, "find_spec", lambda _name: None)
    arguments = ["--checkpoint", str(tiny_checkpoint), "--work", str(tmp_path)]
    result = CliRunner().invoke(
        memory.main, [*arguments, "--starts", "1", "--requests", "2"], catch_exceptions=False
    )
    assert result.exit_code == 0
    assert "CTranslate2 is not installed" in result.output


def test_memory_and_start(
    tiny_checkpoint: Path, tmp_path: Path, stub: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "attend_server", lambda *_: stub)
    file = tmp_path / "x.json"
    arguments = ["--checkpoint", str(tiny_checkpoint), "--no-peers", "--starts", "1"]
    result = CliRunner().invoke(
        memory.main, [*arguments, "--requests", "50", "--json", str(file)], catch_exceptions=False
    )
    assert result.exit_code == 0
    (row,) = json.loads(file.read_text())["rows"]
    assert 0 < row["Ready s"] < 20
    assert 0 < row["Resident MB"] <= INEXACT * row["peak"]
