import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.translating.lines import CHUNK_BYTES, line_blocks
from model.errors import InputError


def lines_of(content: bytes) -> list[str]:
    return [line for block in line_blocks(io.BytesIO(content)) for line in block]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"\n", [""]),
        (b"\n\na\r\n", ["", "", "a"]),
        ("a\u2028b\x0bc\n".encode(), ["a\u2028b\x0bc"]),  # only line feeds end a line
    ],
)
def test_lines_by_hand(content: bytes, lines: list[str]) -> None:
    assert lines_of(content) == lines


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8"))))
def test_lines_are_split_as_they_were_joined(lines: list[str]) -> None:
    assert lines_of("".join(line + "\n" for line in lines).encode()) == lines


def test_characters_and_lines_may_lie_across_chunks() -> None:
    lines = ["é" * CHUNK_BYTES, "x" * (3 * CHUNK_BYTES), ""]
    assert lines_of("\n".join([*lines, "end"]).encode()) == [*lines, "end"]


def test_lines_are_given_out_before_the_end_and_an_empty_block_before_a_wait() -> None:
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as stream, os.fdopen(theirs, "wb", buffering=0) as writer:
        blocks = line_blocks(stream)
        assert next(blocks) == []
        writer.write(b"a\nb")
        assert [next(blocks), next(blocks)] == [["a"], []]
        writer.write(b"c\nd\n")
        assert next(blocks) == ["bc", "d"]
        writer.write(b"e")
        writer.close()
        assert list(blocks) == [["e"]]


def test_a_file_never_waits(tmp_path: Path) -> None:
    lines = [str(number) for number in range(CHUNK_BYTES)]
    path = tmp_path / "lines"
    path.write_text("\n".join(lines))
    with path.open("rb") as stream:
        blocks = list(line_blocks(stream))
    assert len(blocks) > 2
    assert all(blocks)
    assert [line for block in blocks for line in block] == lines


def test_a_bad_byte_is_reported_with_its_line_in_the_stream() -> None:
    content = b"ok\n" * CHUNK_BYTES + b"\xe9t\xe9\n"
    blocks = line_blocks(io.BytesIO(content))
    with pytest.raises(InputError, match=f"^line {CHUNK_BYTES + 1}: not UTF-8"):
        list(blocks)
