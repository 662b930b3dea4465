from collections import Counter

from app.text.facts.compared import fact_faults
from app.text.facts.kept import find_kept
from app.text.spans import replace
from benchmarks.written_facts import Written, written_sentences

SENTENCES = written_sentences()
FIRST = SENTENCES[:1000]
"""Kinds written by the authors of the rules; partners of other sentences may differ."""

PAIRS = list(zip(FIRST[::2], FIRST[1::2], strict=True))


def test_there_are_forty_of_each_kind_half_of_them_each_way() -> None:
    assert len({one.text for one in SENTENCES}) == len(SENTENCES) == 2212
    counts = Counter((one.kind, one.source) for one in FIRST)
    assert set(counts.values()) == {20}
    assert len(counts) == 50


def converted(one: Written) -> bool:
    """Whether the partner of a sentence has its fact in other units."""
    return one.kind in ("length", "weight")


def test_each_sentence_has_the_fact_that_its_partner_expects() -> None:
    for one, other in PAIRS:
        if not (converted(one) or one.kind == "scaled money"):
            assert not one.is_wrong_in(other.text), (one, other)
        assert one.is_wrong_in("")


def test_the_facts_of_partners_are_the_same() -> None:
    n_other = 0
    for pair in PAIRS:
        for one, other in (pair, pair[::-1]):
            kept = find_kept(one.text, one.source)
            answer = other.text
            for span in kept:
                assert span.of(one.text) in answer, one
                answer = answer.replace(span.of(one.text), " ", 1)
            source = replace(one.text, kept, [" "] * len(kept))
            faults = list(fact_faults(source, answer, (one.source, one.target)))
            assert not faults or converted(one), (faults, one, other)
            n_other += bool(faults)
    assert n_other <= 12
