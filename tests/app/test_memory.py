"""Freed memory returns to the system; tested in separate processes with heaps of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

from app import memory

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="glibc")

FREED = """
from pathlib import Path
from app.memory import give_back

def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])

strings = ["x" * 1000 + str(n) for n in range(100_000)]
kept = strings[::1000] + [strings[-1]]
del strings
before = resident()
give_back()
print(before - resident())
"""

HEAPS = """
import threading
from pathlib import Path
from app.memory import keep_few_heaps

keep_few_heaps()
held, go = [], threading.Barrier(17)
def work():
    held.append([bytearray(1000) for _ in range(10)])
    go.wait()
threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads: thread.start()
go.wait()
heaps = {line.split("-")[0] for line in Path("/proc/self/maps").read_text().splitlines()
         if int(line.split("-")[0], 16) % 2**26 == 0}
print(len(heaps))
"""


def printed(program: str) -> int:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return int(done.stdout)


@LINUX
def test_pages_between_live_allocations_are_returned_to_the_system() -> None:
    assert printed(FREED) * 4096 > 50_000_000


@LINUX
def test_threads_share_few_heaps() -> None:
    assert printed(HEAPS) <= 2 * memory.ARENAS  # 15 by default; others may begin alike


def test_nothing_is_done_on_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    memory._of_glibc.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")
    memory.keep_few_heaps()
    memory.give_back()
    memory._of_glibc.cache_clear()


@pytest.mark.parametrize(
    ("contents", "limit"),
    [
        ([], None),
        (["max\n"], None),
        (["1000000\n"], 1_000_000),
        (["max\n", "2000000\n"], 2_000_000),
        (["9223372036854771712\n"], None),  # version 1 without a limit
        (["\xe9"], None),
    ],
)
def test_the_smallest_limit_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: list[str], limit: int | None
) -> None:
    files = [tmp_path / str(index) for index in range(2)]
    monkeypatch.setattr(memory, "_CGROUP_FILES", files)
    machine = memory.memory_limit()
    assert machine > 2**28
    for file, content in zip(files, contents, strict=False):
        file.write_text(content, "utf-8")
    assert memory.memory_limit() == (limit or machine)
