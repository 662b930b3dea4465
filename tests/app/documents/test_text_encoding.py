import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.documents import text_encoding
from app.documents.text_encoding import decode
from app.errors import UnreadableFileError

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\ufeff"))
CODECS = [
    (b"", "utf-8"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]


@given(TEXT, st.sampled_from(CODECS), st.sampled_from(["\n", "\r\n", "\r"]))
def test_a_file_keeps_every_byte(text: str, codec: tuple[bytes, str], line_end: str) -> None:
    mark, name = codec
    data = mark + text.replace("\n", line_end).encode(name)
    read, encoding = decode(data)
    assert read == text
    assert encoding.encode(read) == data


@pytest.mark.parametrize("text", ["a\r\nb\nc", "a\rb\nc\r\n", "\r\r\n", "\n\r"])
def test_mixed_line_ends_stay_mixed(text: str) -> None:
    read, encoding = decode(text.encode())
    assert read == text
    assert encoding.encode(read) == text.encode()


def test_errors_in_encoding_name_the_line() -> None:
    with pytest.raises(UnreadableFileError, match=r"line 2: not UTF-8 \(byte 4\)"):
        decode(b"ok\nx\xff")
    with pytest.raises(UnreadableFileError, match="line 1: not UTF-16-LE"):
        decode(codecs.BOM_UTF16_LE + b"\x00")


@pytest.mark.parametrize(
    "head", [b'<?xml version="1.0" encoding="ISO-8859-1"?>', b"<html><meta charset=latin1>"]
)
def test_markup_declares_its_encoding_and_references_replace_other_characters(head: bytes) -> None:
    data = head + "caf\xe9".encode("latin-1")
    text, encoding = decode(data, is_markup=True)
    assert text.endswith("café")
    assert encoding.encode(text) == data
    assert encoding.encode("é漢") == b"\xe9&#28450;"


def test_a_declaration_is_believed_only_of_markup_and_only_of_text() -> None:
    declared = b'<?xml version="1.0" encoding="%s"?>\xc3\xa9'
    for name in (b"UTF-16", b"utf-32le", b"utf-8"):
        assert decode(declared % name, is_markup=True)[0].endswith("é")
    assert decode(declared % b"latin-1")[0].endswith("é")
    with pytest.raises(UnreadableFileError, match="the encoding klingon is not known"):
        decode(declared % b"klingon", is_markup=True)


HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={}\\n"\n\nmsgid "{}"\nmsgstr ""\n'


@pytest.mark.parametrize("name", ["ISO-8859-2", "cp1250", "utf-8", "CHARSET"])
def test_a_catalogue_declares_its_encoding_and_becomes_utf8_if_need_be(name: str) -> None:
    text = HEADER.format(name, "łódź")
    data = text.encode("utf-8" if name == "CHARSET" else name)
    read, encoding = decode(data, is_catalogue=True)
    assert read == text
    assert encoding.encode(read) == data
    more = read + 'msgstr "œuf 漢"'
    written = encoding.encode(more)
    declared = more.replace(name, "UTF-8") if name in ("ISO-8859-2", "cp1250") else more
    assert written == declared.encode()


def test_a_catalogue_with_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(UnreadableFileError, match="line 3: the encoding klingon is not known"):
        decode(HEADER.format("klingon", "x").encode(), is_catalogue=True)
    with pytest.raises(UnreadableFileError, match="line 3: utf-7 is not an encoding of text files"):
        decode(HEADER.format("utf-7", "x").encode(), is_catalogue=True)
    with pytest.raises(UnreadableFileError, match=r"line 5: not ASCII"):
        decode(HEADER.format("ASCII", "é").encode(), is_catalogue=True)


def test_a_lone_surrogate_of_a_translation_is_a_question_mark() -> None:
    _, encoding = decode(b"x")
    assert encoding.encode("a\ud800") == b"a?"


NO_TEXT = (
    b"idna punycode undefined rot13 rot_13 base64 utf-7 hex zlib bz2 uu quopri unicode_escape mbcs "
    b"oem raw-unicode-escape cp037 hz aliases __init__ palmos charmap"
)


@pytest.mark.parametrize("name", NO_TEXT.split())
@pytest.mark.parametrize("head", [b'<?xml version="1.0" encoding="%s"?>', b"<meta charset=%s>"])
def test_codecs_that_are_not_for_text_files_are_refused(head: bytes, name: bytes) -> None:
    with pytest.raises(UnreadableFileError, match=r"line 1: "):
        decode(head % name + b"<a>xn--" + b"a" * 1000 + b"</a>", is_markup=True)


@given(st.sampled_from(sorted(text_encoding._ENCODINGS)), st.binary(max_size=60), TEXT)
def test_any_bytes_are_read_or_refused(name: str, data: bytes, text: str) -> None:
    declared = b"<meta charset=%s>" % name.encode()
    try:
        read, encoding = decode(declared + data, is_markup=True)
    except UnreadableFileError:
        return
    assert read.startswith(declared.decode())
    assert encoding.encode(text).decode(name, "replace") is not None
