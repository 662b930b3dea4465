"""Freed memory goes back to the system; seen in a process of its own, since heaps are its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from app import freed_memory

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="glibc")

FREED = """
from pathlib import Path
from app.freed_memory import give_back

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
from app.freed_memory import keep_few_heaps

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
def test_pages_between_what_is_kept_go_back_to_the_system() -> None:
    assert printed(FREED) * 4096 > 50_000_000


@LINUX
def test_threads_share_few_heaps() -> None:
    assert printed(HEAPS) <= 2 * freed_memory.ARENAS  # 15 by default; others may begin alike


def test_elsewhere_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    freed_memory._of_glibc.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")
    freed_memory.keep_few_heaps()
    freed_memory.give_back()
    freed_memory._of_glibc.cache_clear()
