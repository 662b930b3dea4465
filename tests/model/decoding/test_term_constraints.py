import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from model.decoding.constraints import ANYWHERE, FIRST, GLUED, Constraint, Wording
from model.decoding.processors import NO_PROCESSORS, LogitsProcessors
from model.decoding.term_constraints import allowed_constraints, constraint_of, piece_edges
from model.text.tokenizer import Tokenizer


def wordings_of(
    tokenizer: Tokenizer, term: str, *, may_be_capital: bool = False
) -> dict[int, tuple[str, Wording]]:
    """Return the pieces of the wordings, and the wordings, by index."""
    constraint = constraint_of(
        tokenizer, piece_edges(tokenizer), term, may_be_capital=may_be_capital
    )
    assert isinstance(constraint, Constraint)
    return {one.where: ("".join(map(tokenizer.piece, one.ids)), one) for one in constraint.wordings}


def test_a_word_begins_with_a_space_or_follows_no_letter(tokenizer: Tokenizer) -> None:
    found = wordings_of(tokenizer, "chien brun")
    assert {where: pieces for where, (pieces, _) in found.items()} == {
        ANYWHERE: "▁chien▁brun", GLUED: "chien▁brun",
    }  # fmt: skip
    for _, wording in found.values():
        assert wording.closed


def test_the_first_letter_may_be_capital_at_the_beginning(tokenizer: Tokenizer) -> None:
    found = wordings_of(tokenizer, "été", may_be_capital=True)
    assert tokenizer.decode(found[FIRST][1].ids) == "Été"
    assert FIRST not in wordings_of(tokenizer, "Gare", may_be_capital=True)
    assert FIRST not in wordings_of(tokenizer, "gare")


def test_behind_a_mark_a_letter_may_follow(tokenizer: Tokenizer) -> None:
    assert not wordings_of(tokenizer, "C++")[ANYWHERE][1].closed
    assert wordings_of(tokenizer, "3")[ANYWHERE][1].closed


def test_words_outside_the_vocabulary_are_spelt_in_bytes(tokenizer: Tokenizer) -> None:
    for term in ("猫", "😀", "Łódź", "naïve"):
        assert tokenizer.decode(wordings_of(tokenizer, term)[ANYWHERE][1].ids) == term


@pytest.mark.parametrize("term", ["ﬁn", "a  b", "\u200b", "½"])
def test_terms_that_the_tokeniser_changes_cannot_be_spelt(tokenizer: Tokenizer, term: str) -> None:
    assert constraint_of(tokenizer, piece_edges(tokenizer), term, may_be_capital=True) is None


@pytest.mark.parametrize("term", ["</s>", "<pad>", "<unk>", "<2fr>"])
def test_a_control_token_is_not_part_of_a_term(tokenizer: Tokenizer, term: str) -> None:
    found = constraint_of(tokenizer, piece_edges(tokenizer), term, may_be_capital=True)
    ids = {token for one in (found.wordings if found else ()) for token in one.ids}
    pieces = {tokenizer.piece(token) for token in ids}
    assert pieces.isdisjoint({"</s>", "<pad>", "<unk>", "<2fr>"})


def terms_of(*ids: tuple[int, ...]) -> tuple[Constraint, ...]:
    return tuple(Constraint((Wording(one),)) for one in ids)


IDS = st.lists(st.integers(1, 4), min_size=1, max_size=6).map(tuple)


@given(n=st.integers(0, 3), bad=st.lists(IDS, max_size=2).map(tuple), before=IDS, ids=IDS)
def test_a_term_is_allowed_unless_one_of_its_tokens_is_forbidden(
    n: int, bad: tuple[tuple[int, ...], ...], before: tuple[int, ...], ids: tuple[int, ...]
) -> None:
    processors = LogitsProcessors(no_repeat_ngram_size=n, bad_words_ids=bad)
    assume(allowed_constraints(terms_of(before), processors))
    found = allowed_constraints(terms_of(before, ids), processors)
    is_forbidden = [
        ids[end] in processors.forbidden(start, ids[:end])
        for start in ((), before)
        for end in range(len(ids))
    ]
    assert found == terms_of(before, *[ids] * (not any(is_forbidden)))
    assert allowed_constraints(terms_of(before, ids), NO_PROCESSORS) == terms_of(before, ids)


def test_of_a_term_the_allowed_wordings_stay() -> None:
    bad = LogitsProcessors(bad_words_ids=((9,),))
    wordings = (Wording((9, 1)), Wording((2, 3)), Wording((2, 9), FIRST))
    assert allowed_constraints([Constraint(wordings)], bad) == terms_of((2, 3))
    nowhere = (Wording((9, 1)), Wording((2, 3), FIRST))
    assert allowed_constraints([Constraint(nowhere)], bad) == ()


def test_edges_are_where_pieces_have_letters_or_digits(tokenizer: Tokenizer) -> None:
    edges = piece_edges(tokenizer)
    assert len(edges.before) == len(edges.behind) == tokenizer.target_vocab_size
    by_piece = {tokenizer.piece(token): token for token in range(tokenizer.target_vocab_size)}
    for piece, before, behind in [
        ("▁", False, False), ("a", True, True), (".", False, False), ("▁f", False, True),
        ("<0xC3>", True, True), ("</s>", False, False), ("<2fr>", False, False),
    ]:  # fmt: skip
        token = by_piece[piece]
        assert (edges.before[token], edges.behind[token]) == (before, behind), piece
