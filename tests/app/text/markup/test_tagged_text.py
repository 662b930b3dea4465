from app.text.document import Answer
from app.text.markup.tagged_text import Piece, TaggedText


def text_of(*pieces: tuple[str, str]) -> TaggedText:
    return TaggedText(Piece(kind, raw) for kind, raw in pieces)  # type: ignore[arg-type]


def test_atoms_are_marks_in_the_text_and_a_typed_mark_is_an_atom_too() -> None:
    tagged = text_of(("text", "a \ue000 "), ("atom", "<x>"), ("text", " b"))
    assert tagged.text == "a \ue0000\ue001 \ue0001\ue001 b"
    assert not tagged.is_tagged
    written = tagged.with_translation(Answer("\ue0001\ue001 B \ue0000\ue001 <"), lambda s: s + "")
    assert written == "<x> B \ue000 <"


def test_text_is_escaped_and_markup_is_not() -> None:
    tagged = text_of(("open", "<b>"), ("text", "a"), ("close", "</b>"), ("atom", "<x>"))
    written = tagged.with_translation(Answer("<a>\ue0000\ue001"), lambda s: s.replace("<", "&lt;"))
    assert written.replace("<b>", "").replace("</b>", "") == "&lt;a><x>"
    assert tagged.is_tagged


def test_separate_elements_stay_separate() -> None:
    tagged = text_of(("text", "one "), ("void", "<i>"), ("text", " two "), ("void", "<j>"))
    assert tagged.text == "one two"
    assert tagged.with_translation(Answer("un deux"), str) == "un <i> deux <j>"
    close = text_of(("text", "one"), ("void", "<i>"), ("text", " two"))
    assert close.with_translation(Answer("un deux"), str) == "un<i> deux"


def test_no_break_spaces_and_ellipses_are_kept_as_typed() -> None:
    tagged = text_of(("text", "10\u00a0km… to"), ("void", "<i>"), ("text", " Mr\u202fSmith!"))
    written = tagged.with_translation(Answer("10 km... pour M. Smith !"), str)
    assert written.replace("<i>", "") == "10\u00a0km… pour M.\u202fSmith !"
