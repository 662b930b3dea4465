import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.concurrency.threads import NICENESS
from app.languages.detection import AT_ONCE, PROCESS, SAMPLE, DetectedLanguage, DetectionProcess
from app.languages.detector import LanguageDetector

TEXTS = [
    "The house is green.",
    "La maison est verte.",
    "Ich habe keine Zeit.",
    "12 %",
    "",
]
EN_FR = ["en", "fr"]


async def detect(*texts: str) -> list[list[DetectedLanguage]]:
    return await PROCESS.detect(texts, EN_FR)


async def test_the_process_answers_as_a_detector_does() -> None:
    for languages in (EN_FR, ["pt-BR", "de", "en"]):
        detector = LanguageDetector(languages)
        assert await PROCESS.detect(TEXTS, languages) == [*map(detector.detect, TEXTS)]


async def test_a_long_text_is_detected_by_its_beginning() -> None:
    beginning = "La maison est verte et le chien est vieux. " * 12
    assert len(beginning) > SAMPLE
    behind = beginning + "The house is green. " * 100_000
    longs = ["\n" * n + behind for n in (0, 1, SAMPLE - 1, SAMPLE, 10_000)]
    [short, *found] = await detect(beginning[:SAMPLE], *longs)
    assert found == [short] * len(longs)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere priorities are of processes")
async def test_it_works_below_the_priority_of_the_event_loop(process: DetectionProcess) -> None:
    await process.detect(TEXTS, EN_FR)
    assert process._child
    assert os.getpriority(os.PRIO_PROCESS, process._child.pid) == min(
        19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS
    )


async def test_long_lists_leave_capacity_for_others() -> None:
    ended: list[str] = []

    async def timed(name: str, *texts: str) -> None:
        answers = await detect(*texts)
        assert [one[0].language for one in answers] == ["fr"] * len(texts)
        ended.append(name)

    await asyncio.gather(timed("long", *[TEXTS[1]] * (3 * AT_ONCE)), timed("short", TEXTS[1]))
    assert ended == ["short", "long"]


@pytest.fixture
def process() -> Iterator[DetectionProcess]:
    process = DetectionProcess()
    yield process
    process.close()


async def test_a_process_that_died_is_replaced(process: DetectionProcess) -> None:
    assert process._child is None
    await process.detect(TEXTS, EN_FR)
    first = process._child
    assert first
    assert os.getpgid(first.pid) != os.getpgid(0)  # Ctrl-C does not reach it
    first.kill()
    first.wait()
    [[best, *_]] = await process.detect([TEXTS[1]], EN_FR)
    assert best.language == "fr"
    assert process._child is not first


async def test_a_process_that_dies_during_a_call_is_an_error(
    process: DetectionProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("app.languages.detection._CODE", "import sys; sys.stdin.readline()")
        with pytest.raises(ChildProcessError, match="died"):
            await process.detect(TEXTS, EN_FR)
    assert (await process.detect([TEXTS[1]], EN_FR))[0][0].language == "fr"


async def test_a_process_that_cannot_be_started_is_an_error(
    process: DetectionProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(OSError, match="/nowhere/python"):
        await process.detect(TEXTS, EN_FR)


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_a_killed_server_leaves_no_process_and_never_loads_lingua() -> None:
    code = """
import asyncio, sys
from app.languages.detection import PROCESS
asyncio.run(PROCESS.detect(["The house is green."], ["en", "fr"]))
print(PROCESS._child.pid, "lingua" in sys.modules, flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=-1, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        pid, loaded = server.stdout.readline().split()
        server.kill()
    assert loaded == "False"
    deadline = time.monotonic() + 30
    while is_running(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(int(pid))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0]
    except OSError:
        return False
    return status != "Z"
