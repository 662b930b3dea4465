"""What is tried next for a segment whose translation is not as it should be, and what is taken.

A translation without all terms of the glossary is searched for again under the constraint that it
has them, and then, if they are not in their places, with stand-ins for them. One with other numbers
is searched for again with stand-ins for the numbers. A retry is taken only if it mends the fault
and brings none of its own; otherwise the fault is flagged.
"""

from __future__ import annotations

from typing import NamedTuple

from app.text.glossary import all_said
from app.text.stand_ins import FAMILIES
from app.translation.segments.segment import Form, Rendering, Segment
from app.translation.segments.term_places import (
    is_behind_end,
    is_misplaced,
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
    candidates = [*segment.earlier, *([segment] if segment.renderings else [])]
    for one in candidates[1:]:
        if one.fault != "glossary_unmet" and not _is_suspicious(candidates[0], one):
            return one
    return candidates[0] if candidates else None


def _after_constrained(segment: Segment) -> Attempt | Segment:
    free = segment.earlier[0]
    if not segment.renderings:
        return Attempt(Form(terms="stand-ins"), (free,))
    if segment.fault == "glossary_unmet" or _is_suspicious(free, segment):
        return Attempt(Form(terms="stand-ins"), (free, segment))
    return _with_numbers(segment)


def _after_stand_ins(segment: Segment) -> Attempt | Segment:
    free, *others = segment.earlier
    said = [one for one in segment.renderings if all_said(segment.terms, one.rest)]
    if said:
        said.sort(key=lambda one: -similarity(free.renderings[0].rest, one.rest))
        segment.renderings = said
    elif segment.form.family + 1 < len(FAMILIES):
        return Attempt(Form(segment.form.family + 1, terms="stand-ins"), segment.earlier)
    for constrained in others:
        # One that lacks terms says more than the free one.
        is_best = constrained.fault != "glossary_unmet" or not said
        if is_best and not _is_out_of_place(free, constrained, said):
            return _with_numbers(constrained)
    return _with_numbers(segment if said else free)


def _is_out_of_place(free: Segment, constrained: Segment, shown: list[Rendering]) -> bool:
    terms, best, was = constrained.terms, constrained.renderings[0].rest, free.renderings[0].rest
    with_stand_ins = shown[0].rest if shown else ""
    return is_behind_end(terms, best) or is_misplaced(terms, was, best, with_stand_ins)


def _is_suspicious(free: Segment, segment: Segment) -> bool:
    """Whether a term may be out of place."""
    was, best = free.renderings[0].rest, segment.renderings[0].rest
    return is_behind_end(segment.terms, best) or was_added(segment.terms, was, best)


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
