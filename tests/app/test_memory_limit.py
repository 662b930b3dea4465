from __future__ import annotations

from pathlib import Path

import pytest

from app import memory_limit as module
from app.memory_limit import memory_limit


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
    monkeypatch.setattr(module, "_CGROUP_FILES", files)
    machine = memory_limit()
    assert machine > 2**28
    for file, content in zip(files, contents, strict=False):
        file.write_text(content, "utf-8")
    assert memory_limit() == (limit or machine)
