"""Converts terms to constraints of a search, by tokenising them with a model's vocabulary."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from model.decoding.constraints import ANYWHERE, FIRST, GLUED, Constraint, PieceEdges, Wording
from model.decoding.processors import LogitsProcessors
from model.text.text_codec import TextCodec
from model.text.words import joins

_BYTE = re.compile("<0x[0-9A-F]{2}>")
_OPENERS = ("'", "(", "-")
"""Characters that may precede a word without a space, to find how it is tokenised after them."""


def piece_edges(codec: TextCodec) -> PieceEdges:
    """Return the edges of target pieces. A byte counts as a letter, since it may be part of one."""
    pieces = [codec.piece(token) for token in range(codec.target_vocab_size)]
    before = np.array([joins(piece[:1]) for piece in pieces])
    behind = np.array([joins(piece[-1:]) for piece in pieces])
    for token, piece in enumerate(pieces):
        if piece.startswith("<0x") and _BYTE.fullmatch(piece):
            before[token] = behind[token] = True
    return PieceEdges(before, behind)


def constraint_of(
    codec: TextCodec, edges: PieceEdges, term: str, *, may_be_capital: bool
) -> Constraint | None:
    """Return the constraint that a translation contains the term as separate words.

    may_be_capital  its first letter may be a capital at the start of the translation

    None if the vocabulary cannot spell it.
    """
    wordings: dict[tuple[int, ...], Wording] = {}
    closed = joins(term[-1:])

    def add(ids: tuple[int, ...], spelt: str, where: int) -> None:
        if ids and codec.decode(ids).lstrip(" ") == spelt:
            wordings.setdefault(ids, Wording(ids, where, closed))

    plain = _ids(codec, term)
    add(plain, term, GLUED if plain and edges.before[plain[0]] else ANYWHERE)
    for opener in _OPENERS:
        tokens = codec.encode_target(opener + term)[:-1]
        behind = [token for token in tokens if token.start >= len(opener)]
        if behind and behind[0].start == len(opener) and len(behind) < len(tokens):
            add(tuple(token.id for token in behind), term, GLUED)
            break
    if may_be_capital and (capital := term[0].upper() + term[1:]) != term:
        add(_ids(codec, capital), capital, FIRST)
    if all(wording.where != ANYWHERE for wording in wordings.values()):
        return None
    return Constraint(tuple(wordings.values()))


def allowed_constraints(
    constraints: Iterable[Constraint], processors: LogitsProcessors
) -> tuple[Constraint, ...]:
    """Return the constraints that a translation may meet together, despite the processors.

    A search that had the others would find no hypothesis.
    """
    found: list[Constraint] = []
    written: list[int] = []
    for constraint in constraints:
        wordings = [one for one in constraint.wordings if _is_allowed(one.ids, (), processors)]
        anywhere = [one.ids for one in wordings if one.where == ANYWHERE]
        if fit := [ids for ids in anywhere if _is_allowed(ids, written, processors)]:
            found.append(Constraint(tuple(wordings)))
            written += sorted(fit, key=len)[0]
    return tuple(found)


def _is_allowed(ids: Sequence[int], before: Sequence[int], processors: LogitsProcessors) -> bool:
    """Whether no token is forbidden, one after another, behind others of which none is.

    As by `LogitsProcessors.forbidden`, but in linear time.
    """
    tokens, n = (*before, *ids), processors.no_repeat_ngram_size
    ngrams = [tokens[end - n : end] for end in range(n, len(tokens) + 1)] if n else []
    return len(set(ngrams)) == len(ngrams) and not any(
        tuple(ids[end - len(word) : end]) == word
        for word in processors.bad_words_ids
        for end in range(len(word), len(ids) + 1)
    )


def _ids(codec: TextCodec, text: str) -> tuple[int, ...]:
    return tuple(token.id for token in codec.encode_target(text)[:-1])
