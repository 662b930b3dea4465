from pathlib import Path

import pytest

from app.hub.origin import ORIGIN_FILE, Origin, read_origin, write_origin


@pytest.mark.parametrize(
    "origin", [Origin(repository="o/m", revision="0" * 40, licence="é"), Origin(repository="/x")]
)
def test_origins_are_read_as_written(tmp_path: Path, origin: Origin) -> None:
    write_origin(tmp_path, origin)
    assert read_origin(tmp_path) == origin


@pytest.mark.parametrize("content", [None, b"", b"{", b"{}", b"[1]", b"\xff", b'{"repository": 3}'])
def test_a_missing_or_damaged_file_is_none(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / ORIGIN_FILE).write_bytes(content)
    assert read_origin(tmp_path) is None
