from collections.abc import Sequence
from pathlib import Path

import pytest
import sentencex
from hypothesis import assume, example, given
from hypothesis import strategies as st

from app.text import abbreviations, segmentation
from app.text.facts.kept import find_kept
from app.text.placeholders import find_placeholders
from app.text.segmentation import MAX_CHARACTERS, WINDOW, Split, each_segment, joint, split_to_fit
from app.text.spans import Span, replace, united
from tests.cases import cases
from tests.linear import assert_linear

PIECES = st.sampled_from(cases(__file__, "pieces"))
TEXTS = st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=40)
SPLITS = st.sampled_from(["sentences", "nonewlines", "off"])


def cut(text: str, language: str = "en", split: Split = "sentences") -> list[str]:
    return [span.of(text) for span in each_segment(text, language, split)]


@given(TEXTS, SPLITS, st.sampled_from(["en", "fr", "zh", "xx"]))
def test_segments_are_in_order_and_cover_all_letters(
    text: str, split: Split, language: str
) -> None:
    spans = list(each_segment(text, language, split))
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(any(map(str.isalpha, span.of(text))) for span in spans)
    left = replace(text, spans, [""] * len(spans))
    assert not any(map(str.isalpha, left.replace("a) ", "")))
    assert replace(text, spans, [span.of(text) for span in spans]) == text


@given(TEXTS, SPLITS, st.data())
def test_segments_do_not_end_in_protected_spans(
    text: str, split: Split, data: st.DataObject
) -> None:
    edges = data.draw(st.lists(st.integers(0, len(text)), unique=True, max_size=6).map(sorted))
    protected = [Span(*edges[at : at + 2]) for at in range(0, len(edges) - 1, 2)]
    for segment in each_segment(text, "en", split, protected):
        for kept in protected:
            apart = segment.end <= kept.start or kept.end <= segment.start
            assert apart or (segment.start <= kept.start and kept.end <= segment.end)
        letters = replace(text, protected, ["0" * (end - start) for start, end in protected])
        assert any(map(str.isalpha, segment.of(letters)))


@pytest.mark.parametrize("space", ["\xa0", "\u202f", "\u2003", "\u3000"])
@pytest.mark.parametrize("language", ["en", "fr", "el", "xx"])
def test_a_wide_space_before_a_full_stop_does_not_end_a_sentence(space: str, language: str) -> None:
    text = f"Le plan B{space}. Voilà le plan{space}B{space}{space}. C'est dit{space}!"
    assert "".join(cut(text, language)).replace(" ", "") == text.replace(" ", "")


class PanicException(BaseException):
    """Like the exception of a panic in sentencex."""


def test_a_window_where_the_splitter_panics_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(language: str, text: str) -> list[str]:
        raise PanicException(language, text)

    monkeypatch.setattr(sentencex, "segment", panic)
    assert cut("The cat. The dog.\nThe house.") == ["The cat. The dog.", "The house."]


def test_any_other_end_of_the_splitter_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(language: str, text: str) -> list[str]:
        raise KeyboardInterrupt(language, text)

    monkeypatch.setattr(sentencex, "segment", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cut("The cat.")


def test_the_layout_stays() -> None:
    text = (
        "# Title\n\n  * First item.\n  * Second: it is here. 😀\n"
        "\t1. Third\n\n> Quote! \r\n- [ ] a\n---\n"
    )
    spans = list(each_segment(text, "en"))
    assert [span.of(text) for span in spans] == [
        "Title", "First item.", "Second: it is here.", "Third", "Quote!", "a",
    ]  # fmt: skip
    assert replace(text, spans, ["A", "B", "C", "D", "E", "F"]) == (
        "# A\n\n  * B\n  * C 😀\n\t1. D\n\n> E \r\n- [ ] F\n---\n"
    )


@pytest.mark.parametrize(
    ("language", "text", "sentences"), cases(__file__, "sentences_end_at_their_punctuation")
)
def test_sentences_end_at_their_punctuation(language: str, text: str, sentences: int) -> None:
    assert len(cut(text, language)) == sentences


def test_the_meaning_of_a_line_break() -> None:
    text = "A line is\nbroken. So\nit goes.\n \nNew paragraph"
    assert cut(text) == ["A line is", "broken.", "So", "it goes.", "New paragraph"]
    assert cut(text, split="nonewlines") == ["A line is\nbroken.", "So\nit goes.", "New paragraph"]
    assert cut(f" {text}\n", split="off") == [text]


@pytest.mark.parametrize(
    "text", ["", " \n", "12,345.6 %", "?!", "🏳️‍🌈 👍🏽", "1. 2) - (3)", "\x00", "½ ²"]
)
def test_without_a_letter_there_is_nothing_to_translate(text: str) -> None:
    assert cut(text) == []


@given(TEXTS, st.integers(1, 12))
def test_pieces_fit_and_lose_nothing(text: str, limit: int) -> None:
    def n_tokens(span: Span) -> int:
        return len(span.of(text).encode("utf-8", "surrogatepass"))

    pieces = split_to_fit(text, Span(0, len(text)), n_tokens, limit)
    for piece in pieces:
        assert n_tokens(piece) <= limit or len(piece.of(text).strip("\u0301")) <= 8
    if n_tokens(Span(0, len(text))) > limit:
        covered = "".join(piece.of(text) for piece in pieces)
        assert "".join(covered.split()) == "".join(text.split())


def test_an_over_long_sentence_is_cut_at_the_best_boundary() -> None:
    def words(text: str) -> list[str]:
        whole = Span(0, len(text))
        spans = split_to_fit(text, whole, lambda span: len(span.of(text).split()), 6)
        return [span.of(text) for span in spans]

    assert words("one two, three four; five six, seven eight") == [
        "one two, three four;", "five six, seven eight",
    ]  # fmt: skip
    assert words("one two three, four five six seven") == ["one two three,", "four five six seven"]
    assert words("one two three four five six seven eight") == [
        "one two three four", "five six seven eight",
    ]  # fmt: skip


def test_an_endless_word_is_cut_anywhere_except_within_protected_spans() -> None:
    text = "a" * 100
    pieces = split_to_fit(text, Span(0, 100), lambda span: span.end - span.start, 9, [Span(40, 60)])
    assert Span(40, 60) in pieces
    assert max(piece.end - piece.start for piece in pieces if piece != (40, 60)) <= 9


@pytest.mark.parametrize("unit", cases(__file__, "time_is_linear_in_the_length"))
def test_time_is_linear_in_the_length(unit: str) -> None:
    def split(n: int) -> None:
        text = unit * n
        for span in list(each_segment(text, "en")):
            split_to_fit(text, span, lambda span: (span.end - span.start) // 2, 500)

    assert_linear(split, 200_000 // len(unit))


def test_unbroken_spans_contain_no_end_of_a_sentence_but_are_translated() -> None:
    text = "Buy Foo! Bar now. Foo! Bar"
    cut = [span.of(text) for span in each_segment(text, "en")]
    whole = [
        span.of(text) for span in each_segment(text, "en", unbroken=[Span(4, 12), Span(18, 26)])
    ]
    assert cut == ["Buy Foo!", "Bar now.", "Foo!", "Bar"]
    assert whole == ["Buy Foo! Bar now.", "Foo! Bar"]


SENTENCES = st.sampled_from(cases(__file__, "sentences"))


@given(st.lists(SENTENCES, max_size=40).map(" ".join), st.sampled_from(["en", "fr", "ja"]))
@example(
    "(It rained. We stayed.) (It rained. We stayed.) No end here (It rained. We stayed.) "
    "The cat sees Mr. Smith. « Le chat dort. Il rêve. »",
    "en",
)
def test_windows_end_sentences_where_the_whole_line_does(line: str, language: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segmentation, "WINDOW", 10_000)
        whole = cut(line, language)
        assume(max(map(len, whole), default=0) <= 60)  # half a window is guaranteed
        patch.setattr(segmentation, "WINDOW", 120)
        assert cut(line, language) == whole


@pytest.mark.parametrize(
    "unit", ["«", "‘", "`", "'", "<!--", "<![CDATA[", "« a. ", "x", "a. ", "M. "]
)
def test_sentencex_reads_a_window_at_most(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def segment(language: str, text: str) -> list[str]:
        read.append(len(text))
        return list(find(language, text))

    find = sentencex.segment
    monkeypatch.setattr(sentencex, "segment", segment)
    text = unit * (50_000 // len(unit))
    list(each_segment(text, "en"))
    assert max(read) <= WINDOW
    assert sum(read) <= 2.1 * len(text)


@pytest.mark.parametrize("split", ["sentences", "off"])
def test_the_characters_of_a_segment_are_limited(split: Split) -> None:
    text = "a cat, a dog " * 2000
    found = list(each_segment(text, "en", split))
    lengths = [span.end - span.start for span in found]
    assert max(lengths) <= MAX_CHARACTERS <= 4 * min(lengths[:-1])
    assert "".join(span.of(text) for span in found).replace(" ", "") == text.replace(" ", "")
    assert all(span.of(text).endswith(("cat,", "dog")) for span in found)
    assert all(span.of(text).endswith("cat,") for span in found[:-1])


def test_no_limit_cuts_a_protected_span() -> None:
    n_long = 2 * MAX_CHARACTERS
    text = "a cat " + "x" * n_long + " a dog " + "漢" * n_long
    whole = Span(6, 6 + n_long)
    found = list(each_segment(text, "en", "off", [whole]))
    assert found[0].of(text) == "a cat"
    assert all(span.start >= whole.end for span in found[1:])
    assert found[1].of(text).startswith("a dog 漢")
    assert [span.start for span in found[2:]] == [span.end for span in found[1:-1]]


def test_a_sentence_longer_than_a_window_is_one() -> None:
    long = "The cat sees a dog and " + "«" * 3 * WINDOW + " sleeps."
    assert cut(f"It rains. {long} It rains.") == ["It rains.", long, "It rains."]


def test_halving_masks_only_the_span_that_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many pieces cost as much as the whole text."""
    masked: list[int] = []

    def mask(text: str, protected: Sequence[Span]) -> str:
        masked.append(len(text))
        return original(text, protected)

    original = segmentation._mask
    monkeypatch.setattr(segmentation, "_mask", mask)
    text = "<a>a" * 2_000
    protected = [Span(at, at + 3) for at in range(0, len(text), 4)]
    pieces = split_to_fit(
        text, Span(0, len(text)), lambda piece: piece.end - piece.start, 50, protected
    )
    assert sum(masked) < 10 * len(text)
    assert "".join(piece.of(text) for piece in pieces) == text
    assert all(piece.start % 4 in (0, 3) for piece in pieces)


@pytest.mark.parametrize(
    ("direction", "between", "expected"),
    [
        ("en zh", " ", ""), ("en ja", " ", ""), ("ko zh-Hant", " ", ""), ("th ja", " ", ""),
        ("zh en", "", " "), ("ja ko", "", " "), ("zh_TW th", "", " "), ("yue my", "", " "),
        ("ja zh", "", ""), ("zh ja", " ", " "), ("en ko", " ", " "), ("en th", " ", " "),
        ("en fr", "", ""), ("en zh", "", ""), ("zh en", " ", " "),
        ("en zh", "  ", "  "), ("en zh", "\n", "\n"), ("zh en", "\n", "\n"), ("en ja", "\t", "\t"),
        ("en zh", "\u00a0", "\u00a0"), ("zh en", "😀", "😀"), ("x-a zh", " ", ""),
    ],
)  # fmt: skip
def test_sentences_are_joined_as_in_the_target_language(
    direction: str, between: str, expected: str
) -> None:
    assert joint(between, *direction.split()) == expected


def test_abbreviations_of_a_regional_code_are_those_of_its_language() -> None:
    for code in ("pt", "pt-BR", "pt_PT"):
        assert len(list(each_segment("O Exmo. João foi.", code))) == 1


ENDS = [
    (language, text)
    for language, text in (
        line.split("\t")
        for line in (Path(__file__).parent / "sentence_ends.tsv").read_text("utf-8").splitlines()
    )
]
MISSED_ENDS = {
    "She joined Acme Inc. | The firm is small.",
    "St. John lives on Main St. near me. | I visit.",
    "Plan B. | Voilà.",
    "Según el art. 5 del código, no. | Punto.",
    "Это было в 1990 г. | Потом он уехал.",
    "Dit geldt o.a. voor u. | Let op.",
    "Kl. 8 börjar det. | Kom.",
}
"""Two sentences in one segment, which does little harm."""


@pytest.mark.parametrize(("language", "text"), ENDS)
def test_sentences_end_where_a_reader_ends_them(language: str, text: str) -> None:
    plain = text.replace(" | ", " ")
    kept = united(plain, find_placeholders(plain), find_kept(plain, language))
    segments = [span.of(plain) for span in each_segment(plain, language, "sentences", kept)]
    expected = [plain] if text in MISSED_ENDS else text.split(" | ")
    assert segments == expected


@pytest.mark.parametrize("language", abbreviations._WORDS)
def test_an_abbreviation_ends_no_sentence(language: str) -> None:
    for word in abbreviations._WORDS[language].split():
        for following in ("Bertrand", "bertrand", "53 bertrand"):
            text = f"Kaka lolo {word}. {following} popo."
            assert cut(text, language) == [text]
