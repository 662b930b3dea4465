import gzip
import lzma
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from model.errors import DataError
from model.training.data.corpus import read_corpus, read_pairs, read_parallel

PAIRS = [("one", "un"), ("two é", "deux\u2028ligne")]
TEXT = "".join(f"{a}\t{b}\n" for a, b in PAIRS).encode()


@pytest.mark.parametrize(
    ("name", "compress"),
    [("a.tsv", bytes), ("a.tsv.xz", lzma.compress), ("a.tsv.gz", gzip.compress)],
)
def test_plain_and_compressed_files_read_alike(
    tmp_path: Path, name: str, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / name
    path.write_bytes(compress(TEXT))
    assert list(read_pairs(path)) == PAIRS


def test_windows_line_ends_and_a_missing_last_one(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"one\tun\r\ntwo\tdeux")
    assert list(read_pairs(path)) == [("one", "un"), ("two", "deux")]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    tsv, json_lines = tmp_path / "a.tsv", tmp_path / "a.jsonl"
    tsv.write_text("one\tun\n\ufefftwo\tdeux", "utf-8-sig")  # the second is text
    assert list(read_pairs(tsv)) == [("one", "un"), ("\ufefftwo", "deux")]
    json_lines.write_text('{"en": "one", "fr": "un"}', "utf-8-sig")
    assert list(read_corpus(json_lines, ("en", "fr"))) == [("one", "un")]


def test_two_files_are_read_side_by_side(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b.gz"
    first.write_text("one\ttab\n\nthree")
    second.write_bytes(gzip.compress("un\r\ndeux\ntrois é\n".encode()))
    pairs = [("one\ttab", "un"), ("", "deux"), ("three", "trois é")]
    assert list(read_parallel(first, second)) == pairs


@pytest.mark.parametrize(("one", "other", "shorter"), [("x\n", "x\ny\n", "a"), ("x", "", "b")])
def test_the_shorter_file_is_named(tmp_path: Path, one: str, other: str, shorter: str) -> None:
    (tmp_path / "a").write_text(one)
    (tmp_path / "b").write_text(other)
    with pytest.raises(DataError, match=f"{shorter}: ends before line . of the other file$"):
        list(read_parallel(tmp_path / "a", tmp_path / "b"))


@pytest.mark.parametrize(("line", "columns"), [("no tab", 1), ("a\tb\tc", 3), ("", 1)])
def test_wrong_number_of_columns(tmp_path: Path, line: str, columns: int) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(f"one\tun\n{line}\n")
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}:2: {columns} tab"):
        list(read_pairs(path))


def test_not_utf_8_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"one\tun\n" * 1233 + b"caf\xe9\tcaf\n" + b"one\tun\n" * 99)
    with pytest.raises(DataError, match=r"a\.tsv:1234: not UTF-8"):
        list(read_pairs(path))


@pytest.mark.parametrize(("name", "compress"), [("a.xz", lzma.compress), ("a.gz", gzip.compress)])
@pytest.mark.parametrize("damage", ["truncated", "not compressed", "flipped"])
def test_damaged_gzip(
    tmp_path: Path, name: str, compress: Callable[[bytes], bytes], damage: str
) -> None:
    whole = compress(TEXT * 1000)
    middle = len(whole) // 2
    flipped = bytes(byte ^ 0xFF for byte in whole[middle : middle + 9])
    damaged = {
        "truncated": whole[:middle],
        "not compressed": TEXT,
        "flipped": whole[:middle] + flipped + whole[middle + 9 :],
    }
    path = tmp_path / name
    path.write_bytes(damaged[damage])
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}"):
        list(read_pairs(path))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"b\.tsv: No such file or directory$"):
        list(read_pairs(tmp_path / "b.tsv"))


def test_json_lines_in_both_forms(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    lines = [
        '{"fr": "un", "en": "one", "id": 3}',
        '{"translation": {"en": "two\\nlines", "fr": "deux\\u2028lignes"}}',
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    pairs = [("one", "un"), ("two lines", "deux lignes")]
    assert list(read_corpus(path, ("en", "fr"))) == pairs


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "has no text 'en'"),
        ('{"en": "one"}', "has no text 'fr'"),
        ('{"en": "one", "fr": 7}', "has no text 'fr'"),
        ('{"translation": null}', "has no text 'en'"),
        ('{"en": "one", "fr": "\\ud83d"}', "'fr': surrogates not allowed"),
    ],
)
def test_json_lines_that_are_not_pairs(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"en": "a", "fr": "b"}}\n{line}\n')
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}:2: {message}"):
        list(read_corpus(path, ("en", "fr")))


def test_the_form_follows_from_the_files(tmp_path: Path) -> None:
    first, second, both = tmp_path / "a.en.xz", tmp_path / "a.fr", tmp_path / "v1.2.tsv.gz"
    first.write_bytes(lzma.compress(b"one\n"))
    second.write_text("un\n")
    both.write_bytes(gzip.compress(b"two\tdeux\n"))
    assert list(read_corpus((first, second), ("en", "fr"))) == [("one", "un")]
    assert list(read_corpus(both, ("en", "fr"))) == [("two", "deux")]
