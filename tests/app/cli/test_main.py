import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from app import __version__
from app.cli.main import VERBS
from tests.app.cli.conftest import Attend

PROGRAM = "from app.cli.main import main; main(prog_name='attend')"
# A shell starts background jobs with SIGINT ignored, which children inherit.
CONTROL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
ATTEND = [sys.executable, "-c", f"{CONTROL_C}; {PROGRAM}"]
ROOT = Path(__file__).parents[3]


def start(*arguments: str | Path, stdin: int | IO[bytes]) -> subprocess.Popen[bytes]:
    command = [*ATTEND, *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_the_help_lists_every_verb(attend: Attend) -> None:
    result = attend("--help")
    assert result.exit_code == 0
    for verb, (_, about) in VERBS.items():
        assert verb in result.stdout
        assert about in result.stdout


def test_the_help_and_the_version_import_no_torch() -> None:
    check = (
        "import sys\nfrom app.cli.main import main\n"
        "main(['--help'], standalone_mode=False)\nsys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(attend: Attend, verb: str) -> None:
    result = attend(verb, "--help")
    assert result.exit_code == 0
    _, _, example = result.stdout.partition("Example:")
    # Whole lines, so that they can be copied.
    assert all(
        line.lstrip().startswith("attend ") or " | attend " in line for line in example.splitlines()
    )
    assert f"attend {verb}" in example


def test_the_version_is_the_packages(attend: Attend) -> None:
    assert attend("--version").stdout == f"attend {__version__}\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["translate", "--nonsense"], ["init", "x"]])
def test_bad_usage_exits_2(attend: Attend, arguments: list[str]) -> None:
    result = attend(*arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


def test_similar_verbs_are_suggested(attend: Attend) -> None:
    assert "No such command 'tranlsate'. Did you mean 'translate'?" in attend("tranlsate").stderr
    assert "Did you mean 'marian'?" in attend("import", "marain").stderr


def test_a_failure_is_one_line_and_exits_1(attend: Attend, tmp_path: Path) -> None:
    result = attend("inspect", tmp_path / "missing")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"attend: {tmp_path / 'missing'}: no such folder")
    assert result.stderr.count("\n") == 1


def test_a_system_error_is_one_line_and_names_the_file(attend: Attend, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = attend("init", "--preset", "tiny", tmp_path / "file" / "below")
    assert result.exit_code == 1
    assert result.stderr.startswith("attend: ")
    assert result.stderr.count("\n") == 1
    assert str(tmp_path / "file") in result.stderr


@pytest.mark.parametrize("verb", ["train", "import"])
def test_a_verb_that_needs_torch_reports_that_it_is_missing(verb: str) -> None:
    without = "import sys\nsys.modules['torch'] = None\n" + ATTEND[-1]
    result = subprocess.run(
        [sys.executable, "-c", without, verb, "--help"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert result.stderr == "attend: this needs torch, which is not installed\n"


def test_a_closed_pipe_ends_it_quietly(tiny_checkpoint: Path) -> None:
    with start("translate", "--checkpoint", tiny_checkpoint, stdin=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(b"one\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"two\n")
        process.stdin.close()
        errors = process.stderr.read()
    assert process.returncode == 0
    assert b"Traceback" not in errors
    assert b"BrokenPipe" not in errors


@pytest.mark.parametrize("arguments", [["inspect", "--preset", "tiny"], ["--help"], ["--version"]])
def test_a_closed_pipe_ends_other_output_quietly(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [*ATTEND, *arguments],
        cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(writing)
    assert (process.returncode, process.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["inspect", "--preset", "tiny"], ["--help"]])
def test_a_full_disk_is_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [*ATTEND, *arguments], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (process.returncode, process.stderr) == (1, b"attend: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_the_null_device(closed: str, tiny_checkpoint: Path) -> None:
    words = shlex.join([*ATTEND, "translate", "--checkpoint", str(tiny_checkpoint)])
    process = subprocess.run(
        ["sh", "-c", f"{words} {closed}"],
        cwd=ROOT,
        input=b"one\n",
        capture_output=True,
        check=False,
    )
    assert process.returncode == 0
    assert b"Traceback" not in process.stderr
    assert bool(process.stdout) == (closed == "2>&-")


def test_control_c_ends_it_without_a_traceback(tiny_checkpoint: Path) -> None:
    with start("translate", "--checkpoint", tiny_checkpoint, stdin=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"one\n")
        process.stdin.flush()
        process.stdout.readline()
        time.sleep(0.5)  # until it waits for the next line
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"Traceback" not in errors
