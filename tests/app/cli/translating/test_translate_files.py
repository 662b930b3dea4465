import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.app.cli.conftest import Attend
from tests.app.server_process import serving

FILES = {"a.txt": "The house.\n", "b.md": "# The *house*\n", "c.json": '{"key": "The house"}'}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return [tmp_path / name for name in FILES]


def as_options(files: list[Path]) -> list[str | Path]:
    return [part for file in files for part in ("--file", file)]


def test_a_file_is_written_beside_its_source_or_to_the_output(
    attend: Attend, tiny_checkpoint: Path, files: list[Path], tmp_path: Path, kernels: None
) -> None:
    command = ("translate", "--checkpoint", tiny_checkpoint, "--file", files[0])
    beside = attend(*command)
    assert beside.exit_code == 0
    assert beside.stdout == f"{tmp_path / 'a.fr.txt'}\n"
    result = attend(*command, "--output", tmp_path / "b.txt", "--target", "fr")
    assert result.stdout == f"{tmp_path / 'b.txt'}\n"
    first, second = ((tmp_path / name).read_text("utf-8") for name in ("a.fr.txt", "b.txt"))
    assert first == second != FILES["a.txt"]
    assert first.endswith("\n")


def test_a_dash_is_standard_output(
    attend: Attend, tiny_checkpoint: Path, files: list[Path], tmp_path: Path, kernels: None
) -> None:
    command = ("translate", "--checkpoint", tiny_checkpoint, "--output", "-", "--file", files[0])
    result = attend(*command)
    assert result.exit_code == 0
    assert attend(*command[:3], *command[5:]).exit_code == 0
    assert result.stdout == (tmp_path / "a.fr.txt").read_text("utf-8")
    for more in (["--json"], ["--file", files[1]]):
        refused = attend(*command, *more)
        assert refused.exit_code == 1
        assert "expected one --file, and no --json" in refused.stderr


@pytest.mark.parametrize("named", [False, True])
def test_existing_files_are_not_overwritten_without_the_flag(
    attend: Attend, tiny_checkpoint: Path, files: list[Path], tmp_path: Path, kernels: None,
    named: bool,
) -> None:  # fmt: skip
    place = tmp_path / ("mine.txt" if named else "a.fr.txt")
    place.write_text("precious", encoding="utf-8")
    command = ["translate", "--checkpoint", tiny_checkpoint, "--file", files[0]]
    command += ["--output", place] if named else []
    refused = attend(*command)
    assert refused.exit_code == 1
    assert refused.stderr == f"attend: {place}: exists already; --overwrite replaces it\n"
    assert place.read_text("utf-8") == "precious"
    assert attend(*command, "--overwrite").exit_code == 0
    assert place.read_text("utf-8") != "precious"
    assert attend("translate", "--overwrite").exit_code == 2


def test_several_go_into_a_folder_with_an_object_for_each(
    attend: Attend, tiny_checkpoint: Path, files: list[Path], tmp_path: Path, kernels: None
) -> None:
    folder = tmp_path / "out" / "fr"
    result = attend(
        "translate", "--checkpoint", tiny_checkpoint, *as_options(files), "--output", folder,
        "--json", "--beam-size", "1",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    summaries = [json.loads(line) for line in result.stdout.splitlines()]
    assert [summary["file"] for summary in summaries] == [str(file) for file in files]
    assert [Path(summary["output"]).name for summary in summaries] == [
        "a.fr.txt", "b.fr.md", "c.fr.json",
    ]  # fmt: skip
    assert [summary["texts"] for summary in summaries] == [1, 1, 1]
    assert [summary["characters"] for summary in summaries] == [10, 9, 9]
    assert summaries[0]["flags"]["length_capped"] == 1  # random weights rarely end a sentence
    assert json.loads((folder / "c.fr.json").read_text("utf-8")).keys() == {"key"}


def test_a_server_translates_them_as_well(
    attend: Attend, tiny_checkpoint: Path, files: list[Path], tmp_path: Path, kernels: None
) -> None:
    attend("translate", "--checkpoint", tiny_checkpoint, *as_options(files))
    here = [(tmp_path / name).read_bytes() for name in ("a.fr.txt", "b.fr.md", "c.fr.json")]
    with serving(tiny_checkpoint) as (_, client):
        url = str(client.base_url)
        result = attend(
            "translate", "--url", url, *as_options(files), "--output", tmp_path / "out", "--json"
        )
        assert result.exit_code == 0, result.stderr
        bad = tmp_path / "bad.json"
        bad.write_text("{", encoding="utf-8")
        refused = attend("translate", "--url", url, "--file", bad)
    there = [Path(json.loads(line)["output"]).read_bytes() for line in result.stdout.splitlines()]
    assert there == here
    assert refused.exit_code == 1
    assert "400 line 1, column 2: not JSON" in refused.stderr


def test_the_language_of_a_file_is_found_out(
    attend: Attend, tiny_checkpoint: Path, files: list[Path], tmp_path: Path, kernels: None
) -> None:
    files[0].write_text("La maison est verte et le chien est vieux.", encoding="utf-8")
    result = attend(
        "translate", "--checkpoint", tiny_checkpoint, "--file", files[0], "--source", "auto"
    )
    assert result.stdout == f"{tmp_path / 'a.en.txt'}\n"


def test_files_that_cannot_be_translated_are_reported_in_one_line(
    attend: Attend, tiny_checkpoint: Path, tmp_path: Path, kernels: None
) -> None:
    unknown, broken = tmp_path / "a.exe", tmp_path / "a.json"
    unknown.touch()
    broken.write_text("{", encoding="utf-8")
    command = ("translate", "--checkpoint", tiny_checkpoint)
    for file, reason in (
        (unknown, f"{unknown}: the file extension should be one of .txt, "),
        (broken, f"{broken}: line 1, column 2"),
    ):
        result = attend(*command, "--file", file)
        assert result.exit_code == 1
        assert result.stderr.startswith("attend: ")
        assert reason in result.stderr
    assert attend(*command, "--file", tmp_path / "missing.txt").exit_code == 2
    assert attend(*command, "--output", tmp_path).exit_code == 2
    searched = attend("translate", "--url", "http://x", "--file", broken, "--beam-size", "2")
    assert searched.exit_code == 2


def test_another_server_is_reported(attend: Attend, files: list[Path], tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), _EmptyAnswers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        result = attend("translate", "--url", url, "--target", "fr", "--file", files[0])
        server.shutdown()
        thread.join()
    assert result.exit_code == 1
    assert "/translate_file: not the answer of an attend server" in result.stderr
    assert not (tmp_path / "a.fr.txt").exists()


class _EmptyAnswers(BaseHTTPRequestHandler):
    """Answers every request with an empty body."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass
