"""Decides how a segment with a faulty translation is searched again, and which result is taken.

If terms of the glossary are missing, the next search is constrained to contain them, and the one
after has stand-ins for them. The constrained translation is taken if the one with stand-ins has the
terms at the same positions, because its words agree with the terms; else the one with stand-ins. If
neither is usable, the constrained one is taken if its terms replace words, else the free one, which
is flagged. If numbers differ, the next search has stand-ins for the numbers. A retry is taken only
if it mends the fault without a new one; otherwise the fault is flagged.
"""

from typing import NamedTuple

from app.text.elision import is_elided_before
from app.text.glossary import has_all_terms
from app.text.stand_ins import FAMILIES
from app.translation.segments.segment import Form, Segment
from app.translation.segments.term_places import (
    has_source_word,
    is_behind_end,
    is_in_place,
    similarity,
    was_added,
)
from model.text.language_codes import primary_language

NUMBER_FAMILIES = (1, 0)
"""Families of stand-ins for numbers, in the order in which they are tried: numbers first."""


MIN_SIMILARITY = 0.4
"""Share of words in common with the free translation, of one whose terms nothing else places."""

FACTS = {"numbers", "facts"}
"""Faults that stand-ins for the facts may mend."""


class Attempt(NamedTuple):
    """The form of the next search, and the earlier searches to compare it with."""

    form: Form
    earlier: tuple[Segment, ...] = ()


def next_step(segment: Segment) -> Attempt | Segment | None:
    """Return what to try next for a settled segment, or the segment to take; None if neither."""
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
    """Return what to take without further searches; None if nothing was acceptable yet."""
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
    original, terms = free.renderings[0].rest, segment.terms
    usable = [
        one
        for one in segment.renderings
        if has_all_terms(terms, one.rest)
        and not is_behind_end(terms, one.rest)
        and not was_added(terms, original, one.rest)
        and not _is_garbled(segment, one.rest)
    ]
    if not usable:
        family = segment.form.family + 1
        if family < len(FAMILIES):
            return Attempt(Form(family, terms="stand-ins"), segment.earlier)
        return _with_numbers(next((one for one in others if _replaces(one, free)), free))
    segment.renderings = sorted(usable, key=lambda one: -similarity(original, one.rest))
    with_stand_ins = segment.renderings[0].rest
    for constrained in others:
        best = constrained.renderings[0].rest
        if (
            has_all_terms(terms, best)
            and is_in_place(terms, original, best, with_stand_ins)
            and not _is_garbled(constrained, best)
        ):
            return _with_numbers(constrained)
    return _with_numbers(segment)


def _replaces(constrained: Segment, free: Segment) -> bool:
    """Whether the terms seem to replace words of the free translation.

    The only check that is possible if the model loses every stand-in. A translation that does not
    end is not compared word by word.
    """
    terms, best = constrained.terms, constrained.renderings[0].rest
    original, ends = free.renderings[0].rest, not free.best.capped
    return (
        has_all_terms(terms, best)
        and not is_behind_end(terms, best)
        and not was_added(terms, original, best)
        and not _is_garbled(constrained, best)
        and not (ends and similarity(original, best) < MIN_SIMILARITY)
    )


def _is_garbled(segment: Segment, translation: str) -> bool:
    """Whether a term is there twice, in both languages, or behind an article of another word."""
    if has_source_word(segment.terms, segment.stand_ins.rest, translation):
        return True
    return primary_language(segment.direction[-1]) == "fr" and any(
        is_elided_before(translation, term.target) for term in segment.terms
    )


def _with_numbers(segment: Segment) -> Attempt | Segment:
    """Take a segment, or protect its facts if they differ."""
    if segment.fault not in FACTS or segment.best.capped:
        return segment
    return Attempt(_numbers_form(segment, 0), (segment,))


def _after_numbers(segment: Segment) -> Attempt | Segment:
    before = segment.earlier[-1]
    if segment.renderings and set(segment.flags()) <= {*before.flags(), "doubtful"} - FACTS:
        return segment
    tried = NUMBER_FAMILIES.index(segment.form.family) + 1
    if tried == len(NUMBER_FAMILIES):
        return before
    return Attempt(_numbers_form(segment, tried), segment.earlier)


def _numbers_form(segment: Segment, tried: int) -> Form:
    return Form(NUMBER_FAMILIES[tried], terms=segment.form.terms, numbers=True)
