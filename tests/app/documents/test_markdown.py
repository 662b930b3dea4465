import random
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.documents.markdown import MAX_BLOCKS, open_markdown
from app.errors import UnreadableFileError
from app.text.document import Answer
from app.text.placeholders import ATOM
from app.text.spans import Span
from app.text.word_links import WordLink
from tests.app.documents.answering import sample, translated, unchanged, uppercased
from tests.cases import cases
from tests.linear import assert_linear

README = sample("readme.md").replace("<two blanks>", "  ")
UPPERCASED = cases(__file__, "uppercased")


@pytest.mark.parametrize("line", UPPERCASED)
def test_in_capitals_nothing_but_the_text_changes(line: str) -> None:
    before, after = README.split("\n"), uppercased(open_markdown(README)).split("\n")
    assert len(before) == len(after)
    assert after[before.index(line)] == UPPERCASED[line]


def test_a_paragraph_is_wrapped_as_wide_as_it_was() -> None:
    paragraph = "> The **first** line of it\n> and the second.\n"
    twice = translated(open_markdown(paragraph), lambda text: f"{text} {text}")
    lines = twice.splitlines()
    assert all(line.startswith("> ") for line in lines)
    assert max(map(len, lines)) <= len("> The **first** line of it")
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("text", "answer", "written"), cases(__file__, "nothing_of_a_translation_becomes_markdown")
)
def test_nothing_of_a_translation_becomes_markdown(text: str, answer: str, written: str) -> None:
    assert translated(open_markdown(text), lambda _: answer) == written


def test_a_link_that_is_named_after_a_file_is_left_whole() -> None:
    document = open_markdown(
        "See [docs/api.md](docs/api.md), [the docs](x) and [os.path]\n\n[os.path]: y"
    )
    [text] = document.texts
    assert text == "See \ue0000\ue001, the docs and \ue0001\ue001"
    assert uppercased(document).startswith(
        "SEE [docs/api.md](docs/api.md), [THE DOCS](x) AND [os.path]\n"
    )


def test_a_paragraph_that_takes_too_long_is_refused() -> None:
    paragraphs = "a\n\n" + "b " * 15_000 + "\n\n"
    assert len(open_markdown(paragraphs).texts) == 2
    with pytest.raises(UnreadableFileError, match=r"line 5: a paragraph .* may have 30,000"):
        open_markdown(paragraphs + "[" * 30_001)


def test_emphasis_that_cannot_be_is_left_out() -> None:
    document = open_markdown("see **one**")
    links = [WordLink(Span(0, 3), Span(0, 3)), WordLink(Span(4, 7), Span(3, 4))]
    # No emphasis begins between a letter and a quotation mark.
    assert document.with_translations([Answer("mot«one»", links)]) == "mot«one»"
    links = [WordLink(Span(0, 3), Span(0, 3)), WordLink(Span(4, 7), Span(4, 7))]
    assert document.with_translations([Answer("mot«one»", links)]) == "mot«**one**»"


WORD = st.sampled_from(
    ["cat", "The", "*old*", "**big**", "`x`", "[dog](y)", "<b>sea</b>", "\\*", "&amp;", "_a_b",
     "~~no~~", "[ref]", "[see][ref]", "<http://a.b>", "![i](j)", "*", "[", "]", "<br>",
     "a  \nb", "\\\n", "\n", "|"]
)  # fmt: skip
INLINE = st.lists(WORD, min_size=1, max_size=7).map(" ".join)
BLOCK = st.builds(
    lambda lead, content: "\n".join(
        (lead if not n else " " * len(lead) if lead[:1] in "-1" else lead) + line
        for n, line in enumerate(content.split("\n"))
    ),
    st.sampled_from(["", "- ", "> ", "1. ", "# ", "> - ", "    ", "<div>\n", "```\n"]),
    INLINE,
)
DOCUMENTS = st.lists(BLOCK, max_size=5).map(
    lambda blocks: "\n\n".join([*blocks, "[ref]: http://c.d"])
)


@settings(max_examples=150)
@given(DOCUMENTS)
def test_any_document_without_changes_is_identical(text: str) -> None:
    assert unchanged(open_markdown(text)) == text


def structure(text: str) -> list[tuple[str, int]]:
    """The blocks, one after the other."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return [(token.type, token.level) for token in tokens]


def formatting(text: str) -> Counter[str]:
    """Return the code, links and images at any depth."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    children = (child for token in tokens for child in token.children or [])
    kept = ("code_inline", "link_open", "image", "html_inline")
    return Counter(
        f"{child.type}{child.attrs.get('href')}{child.content if child.type != 'image' else ''}"
        for child in children
        if child.type in kept
    )


@settings(max_examples=150)
@given(DOCUMENTS, st.randoms())
def test_the_markdown_is_the_same_for_any_translation(text: str, chooser: random.Random) -> None:
    def scrambled(source: str) -> str:
        atoms = ATOM.findall(source)
        words = [word.upper() for word in ATOM.sub(" ", source).split()]
        words += chooser.choices(["*x*", "- a", "1.", "`", "[b](c)", "<i>", "#", "]"], k=2) + atoms
        chooser.shuffle(words)
        return " ".join(words)

    written = translated(open_markdown(text), scrambled)
    assert structure(written) == structure(text)
    assert formatting(written) == formatting(text)


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ("[^1]: This is the note.\n", ["This is the note."]),
        ("[^1]: Note.\n", ["Note."]),
        (
            "Text.[^1]\n\n[^1]: One.\n[^long-name]: Two,\n    goes on.\n",
            ["Text.", "One.", "Two, goes on."],
        ),
        ("The text ends.\n[^1]: The note begins.\n", ["The text ends.", "The note begins."]),
    ],
)
def test_a_footnote_keeps_its_label(markdown: str, texts: list[str]) -> None:
    opened = open_markdown(markdown)
    assert opened.texts == texts
    made = opened.with_translations([Answer(f"Voici {text}") for text in texts])
    for label in re.findall(r"^\[\^.*?\]: ", markdown, re.MULTILINE):
        assert f"\n{label}Voici " in f"\n{made}"
    assert open_markdown(made).texts == [f"Voici {text}" for text in texts]


def test_a_link_definition_is_not_a_footnote() -> None:
    assert open_markdown("[a]\n\n[a]: Target\n").texts == ["a"]


@pytest.mark.parametrize(
    "block", ['<a href="u">\n*bar*\n</a>\n', "<Warning>\nbar\n</Warning>\n", "<del>\nfoo\n</del>\n"]
)
def test_a_block_of_html_stays_a_block(block: str) -> None:
    assert uppercased(open_markdown(block)) == re.sub(
        r"(?<=\n).*(?=\n<)", lambda m: m[0].upper(), block
    )


def test_html_that_would_no_more_be_a_block_stays() -> None:
    assert uppercased(open_markdown('<div id="foo"\n*hi*\n')) == '<div id="foo"\n*hi*\n'


@pytest.mark.parametrize(
    "line",
    [
        ":::", "::: tip Title", ":::note{title='Words'}", "{{< notice tip >}}", "{{% /notice %}}",
        '{% include note.html content="words" %}', "{: .class }", "{/* words */}",
        "import Tabs from '@theme/Tabs';", '!!! note "Words"', "???+ tip",
    ],
)  # fmt: skip
def test_lines_of_other_dialects_stay(line: str) -> None:
    for text in ("{0}\na cat\n{0}\n", "- a\n{0}\n- b\n", "> a\n> {0}\n{0}\n\n| a |\n|---|\n{0}\n"):
        assert uppercased(open_markdown(text.format(line))) == text.upper().format(line)


@pytest.mark.parametrize(
    "line",
    ["{{< b >}}words{{< /b >}}", "{% if x %}words{% endif %}", "import words from it", "!!!words"],
)
def test_words_between_shortcodes_are_translated(line: str) -> None:
    assert open_markdown(line).texts == [line]


def test_front_matter_may_be_empty() -> None:
    text = "---\n---\n\nWords\n\nTitle\n---\n"
    assert uppercased(open_markdown(text)) == text.upper()


def test_a_tag_for_a_line_break_ends_a_text() -> None:
    text = "| a |\n|---|\n| one cat<br>two<br/>dogs |\n\none<br>\ntwo *three<BR >four*\n"
    opened = open_markdown(text)
    assert opened.texts == ["a", "one cat", "two", "dogs", "one", "two three four"]
    assert uppercased(opened).replace("<br", "<BR") == text.upper().replace("<BR >", "<BR > ")


@pytest.mark.parametrize("end", ["  \n", "\\\n"])
def test_a_break_within_emphasis_parts_two_words(end: str) -> None:
    opened = open_markdown(f"*foo{end}bar*\n")
    assert opened.texts == ["foo bar"]
    assert uppercased(opened) == f"*FOO{end} BAR*\n"


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("salt &amp; pepper", "sel et poivre", "sel &amp; poivre"),
        (
            "10&nbsp;km of caf&eacute;s",
            "10 km de cafés à côté",
            "10&nbsp;km de caf&eacute;s à côté",
        ),
        ("Wait&hellip; *now*", "Attends... *maintenant*", "Attends&hellip; *maintenant*"),
        ("a \\& b &copy;", "© un & deux", "&copy; un \\& deux"),
    ],
)
def test_entities_are_restored_at_their_positions(
    source: str, translation: str, expected: str
) -> None:
    opened = open_markdown(source)
    answer = Answer(translation.replace("*", ""), [], ("en", "fr"))
    written = opened.with_translations([answer])
    assert written.replace("*", "") == expected.replace("*", "")


@pytest.mark.parametrize(
    "unit",
    [
        "- a\n",
        "a\n\n",
        "# a\n",
        "a\n=\n",
        "a|b\n",
        "[a]: b\n",
        "1. a\n",
        "> a\n",
        "a\r\n\r\n",
        ":::\n",
    ],
)
def test_many_blocks_are_refused_before_they_are_parsed(unit: str) -> None:
    with pytest.raises(UnreadableFileError, match="may have 100,000 headings, items, rows"):
        open_markdown(unit * (MAX_BLOCKS + 1))
    assert_linear(lambda n: open_markdown(unit * n), 2000)
