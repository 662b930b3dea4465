import contextlib
import io
import os
import pty
from pathlib import Path

import pytest

from app.cli.display.progress import TranslationProgress, count_lines


@pytest.mark.parametrize(
    ("content", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"\n\nb", 3), (b"x" * 3_000_000, 1)]
)
def test_lines_of_a_file_are_counted_in_place(tmp_path: Path, content: bytes, lines: int) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with path.open("rb") as file:
        assert count_lines(file) == lines
        assert file.read() == content


def test_only_the_rest_of_a_file_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\nthree\n")
    with (tmp_path / "a.txt").open("rb", buffering=0) as file:
        file.read(4)
        assert count_lines(file) == 2


def test_a_pipe_has_no_number_of_lines() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as pipe:
        os.close(writing)
        assert count_lines(pipe) is None
    assert count_lines(io.BytesIO()) is None


def test_flags_are_summed_up_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with TranslationProgress(None) as progress:
        for flags in ([], ["numbers"], ["numbers", "repetition"], []):
            progress.on_line(flags)
    assert capsys.readouterr().err == (
        "attend: flags in 2 of 4 lines: numbers 2, repetition 1; --flags lists them\n"
    )


def test_without_flags_there_is_no_summary(capsys: pytest.CaptureFixture[str]) -> None:
    with TranslationProgress(2, list_flags=True) as progress:
        progress.on_line([])
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr("sys.stderr", terminal)
        patch.setenv("TERM", "xterm")
        with TranslationProgress(4) as progress:
            progress.on_line([])
            progress.on_line(["copied_source"])
    output = ""
    with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
        while part := os.read(ours, 100_000):
            output += part.decode()
    os.close(ours)
    assert "2/4" in output
    assert "flags in 1 of 2 lines: copied_source 1" in output
