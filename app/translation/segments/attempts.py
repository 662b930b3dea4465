"""What is tried next for a segment whose translation is not as it should be, and what is taken.

A translation without all terms of the glossary is searched for again under the constraint that it
has them, and then with stand-ins for them. The constrained one is taken if the other confirms where
its terms are, because its words agree with the terms; else the one with stand-ins; without any of
these, the constrained one if its terms replace words, and else the free one, flagged. A
translation with other numbers is searched for again with stand-ins for the numbers. A retry is
taken only if it mends the fault and brings none of its own; otherwise the fault is flagged.
"""

from __future__ import annotations

from typing import NamedTuple

from app.text.glossary import has_all_terms
from app.text.stand_ins import FAMILIES
from app.translation.segments.segment import Form, Segment
from app.translation.segments.term_places import (
    is_behind_end,
    is_in_place,
    similarity,
    was_added,
)

NUMBER_FAMILIES = (1, 0)
"""Families of stand-ins for numbers, in the order in which they are tried: numbers first."""


class Attempt(NamedTuple):
    """The form of the next search, and the searches before that it may be compared with."""

    form: Form
    earlier: tuple[Segment, ...] = ()


def next_step(segment: Segment) -> Attempt | Segment | None:
    """Return what to try next, or the segment to take; None if there is neither.

    `segment` is settled and not accepted.
    """
    if segment.form.numbers:
        return _after_numbers(segment)
    if segment.form.terms == "stand-ins":
        return _after_stand_ins(segment)
    if segment.form.terms == "constrained":
        return _after_constrained(segment)
    if not segment.renderings:
        family = segment.form.family + 1
        return Attempt(Form(family)) if family < len(FAMILIES) else None
    if segment.fault == "glossary_unmet":
        return Attempt(Form(segment.form.family, terms="constrained"), (segment,))
    return _with_numbers(segment)


def best_so_far(segment: Segment) -> Segment | None:
    """Return what to take if no further search is possible; None if nothing was acceptable yet."""
    if segment.is_accepted:
        return segment
    if segment.form.numbers:
        return segment.earlier[-1]
    return next((one for one in (*segment.earlier, segment) if one.renderings), None)


def _after_constrained(segment: Segment) -> Attempt:
    searches = (*segment.earlier, segment) if segment.renderings else segment.earlier
    return Attempt(Form(terms="stand-ins"), searches)


def _after_stand_ins(segment: Segment) -> Attempt | Segment:
    free, *others = segment.earlier
    was = free.renderings[0].rest
    terms = segment.terms
    said = [
        one
        for one in segment.renderings
        if has_all_terms(terms, one.rest)
        and not is_behind_end(terms, one.rest)
        and not was_added(terms, was, one.rest)
    ]
    if not said:
        family = segment.form.family + 1
        if family < len(FAMILIES):
            return Attempt(Form(family, terms="stand-ins"), segment.earlier)
        return _with_numbers(next((one for one in others if _replaces(one, was)), free))
    segment.renderings = sorted(said, key=lambda one: -similarity(was, one.rest))
    shown = segment.renderings[0].rest
    for constrained in others:
        best = constrained.renderings[0].rest
        if has_all_terms(terms, best) and is_in_place(terms, was, best, shown):
            return _with_numbers(constrained)
    return _with_numbers(segment)


def _replaces(constrained: Segment, was: str) -> bool:
    """Whether the terms seem to be in the place of words of the free translation.

    That has to do where a model loses every stand-in.
    """
    terms, best = constrained.terms, constrained.renderings[0].rest
    is_said = has_all_terms(terms, best) and not is_behind_end(terms, best)
    return is_said and not was_added(terms, was, best)


def _with_numbers(segment: Segment) -> Attempt | Segment:
    """Take a segment, or protect its numbers if they are others."""
    if segment.fault != "numbers" or segment.best.capped:
        return segment
    return Attempt(_numbers_form(segment, 0), (segment,))


def _after_numbers(segment: Segment) -> Attempt | Segment:
    before = segment.earlier[-1]
    if segment.renderings and set(segment.flags()) <= set(before.flags()) - {"numbers"}:
        return segment
    tried = NUMBER_FAMILIES.index(segment.form.family) + 1
    if tried == len(NUMBER_FAMILIES):
        return before
    return Attempt(_numbers_form(segment, tried), segment.earlier)


def _numbers_form(segment: Segment, tried: int) -> Form:
    return Form(NUMBER_FAMILIES[tried], terms=segment.form.terms, numbers=True)
