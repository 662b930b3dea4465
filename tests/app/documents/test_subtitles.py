import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.documents.subtitles import open_subtitles, open_web_subtitles
from app.errors import UnreadableFileError
from app.text.document import Answer
from tests.app.documents.answering import sample, translated, unchanged, uppercased

FILM = sample("film.srt")
WEB_FILM = """WEBVTT - A film

STYLE
::cue { color: red }

NOTE not this
of two lines

intro
00:01.000 --> 00:02.000 align:start
The old cat &amp; the dog who

00:00:03.000 --> 00:00:04.000
came back.

00:05.000 --> 00:06.000
<v Bob>He <c.yellow>really</c> wanted
to <00:00:05.500>see.

00:07.000 --> 00:08.000
- Yes.
- No &lt; 1.
"""
LINE = st.sampled_from(
    ["Good morning", "and then", "- Yes.", "<i>no</i>", "{\\an8}a", "<i>", "</b>", "1", "♪", "-->"]
)
CUES = st.lists(st.lists(LINE, max_size=3), max_size=6).map(
    lambda cues: "\n".join(
        f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n" + "".join(f"{line}\n" for line in lines)
        for n, lines in enumerate(cues)
    )
)


def test_a_sentence_over_several_cues_is_one_text() -> None:
    assert open_subtitles(FILM).texts == [
        "I never thought that we would come back to this house after so many years.",
        "Are you coming?",
        "No.",
        "He was not there.",
        "He really wanted to see 3 > 2.",
        "♪ La la ♪",
    ]


def test_in_capitals_nothing_but_the_letters_changes() -> None:
    assert uppercased(open_subtitles(FILM)) == "".join(
        line if "-->" in line else re.sub(r"(<[^>]*>|\{[^}]*\})|\w", _upper, line)
        for line in FILM.splitlines(keepends=True)
    )


def _upper(found: re.Match[str]) -> str:
    return found[0] if found[1] else found[0].upper()


def test_cues_get_the_share_that_they_had_and_as_many_lines() -> None:
    _, *others = open_subtitles(FILM).texts
    answer = "un deux trois quatre cinq six sept huit neuf dix onze douze"
    written = open_subtitles(FILM).with_translations(
        [Answer(answer), *(Answer(other) for other in others)]
    )
    first, second, *_ = written.split("\n\n")
    assert first.split("\n")[2:] == ["un deux trois quatre", "cinq six sept huit neuf"]
    assert second.split("\n")[2:] == ["dix onze douze"]
    few = translated(open_subtitles(FILM), lambda _: "Oui.").split("\n\n")
    assert few[0].endswith("\nOui.")
    assert few[1].endswith("\n…")


def test_nothing_becomes_a_tag_or_a_time() -> None:
    written = translated(
        open_subtitles(FILM), lambda text: f"<b>{{\\an1}} 00:00:01,000 --> \n\n{text}</b>"
    )
    assert open_subtitles(written).texts  # as many cues, all well-formed
    assert len(re.findall("-->", written)) == len(re.findall("-->", FILM))
    tags = r"<(?=/?[a-zA-Z])[^>]*>|\{\\[^}]*\}"
    assert sorted(re.findall(tags, written)) == sorted(re.findall(tags, FILM))


@given(CUES)
def test_a_file_without_changes_is_identical(text: str) -> None:
    assert unchanged(open_subtitles(text)) == text


@given(CUES, st.text("ab \n<>{}\\-", max_size=30))
def test_the_times_are_the_same_for_any_translation(text: str, answer: str) -> None:
    written = translated(open_subtitles(text), lambda one: f"x {answer} {one}")
    pattern = r"\d+\n00:.*"
    assert re.findall(pattern, written) == re.findall(pattern, text)
    unchanged(open_subtitles(written))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Hello\n", 1),
        ("1\n00:00:01 --> 00:00:02\nHello\n", 2),
        ("1\n00:00:01,000 --> 00:00:02,000\nHello\n\nthere\n", 5),
        ("1\n", 2),
    ],
)
def test_errors_in_subtitles_name_the_line(text: str, line: int) -> None:
    with pytest.raises(UnreadableFileError, match=f"line {line}: not SubRip"):
        open_subtitles(text)


CROWDED = "1\n00:00:01,000 --> 00:00:02,000\nThe old cat\n42\n"
CROWDED += "2\n00:00:03,000 --> 00:00:04,000\n3\n00:00:05,000 --> 00:00:06,000\nA dog.\n"
CROWDED_WEB = "WEBVTT\n00:01.000 --> 00:02.000\nThe old cat\n00:03.000 --> 00:04.000\nA dog.\n"


@pytest.mark.parametrize(
    ("text", "texts"),
    [(CROWDED, ["The old cat 42", "A dog."]), (CROWDED_WEB, ["The old cat", "A dog."])],
)
def test_cues_need_no_empty_line_between_them(text: str, texts: list[str]) -> None:
    """Players divide such a file by its times."""
    opened = (open_web_subtitles if text is CROWDED_WEB else open_subtitles)(text)
    assert opened.texts == texts
    assert unchanged(opened) == text
    expected = text.replace("The old cat", "THE OLD CAT").replace("A dog", "A DOG")
    assert uppercased(opened) == expected


def test_webvtt_keeps_heads_notes_settings_and_tags() -> None:
    opened = open_web_subtitles(WEB_FILM)
    assert opened.texts == [
        "The old cat & the dog who came back.", "He really wanted to see.", "Yes.", "No < 1.",
    ]  # fmt: skip
    assert unchanged(opened) == WEB_FILM
    written = uppercased(opened)
    head, _, cues = written.partition("00:01.000")
    assert WEB_FILM.startswith(head)
    assert "\nTHE OLD CAT &amp; THE DOG WHO\n\n00:00:03.000" in cues
    assert "<v Bob>HE <c.yellow>REALLY</c>" in cues
    assert cues.endswith("- YES.\n- NO &lt; 1.\n")
    assert "&lt;b&gt; --&gt;" in translated(opened, lambda _: "<b> -->")


def test_a_file_without_its_head_is_not_webvtt() -> None:
    for text in ("", "WEBVTTX", FILM):
        with pytest.raises(UnreadableFileError, match="line 1: not WebVTT: expected WEBVTT"):
            open_web_subtitles(text)
    assert open_web_subtitles("WEBVTT\n\nno cue\n").texts == []
