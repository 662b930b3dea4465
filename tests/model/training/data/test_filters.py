import pytest

from model.errors import ConfigError
from model.training.data.filters import FilterConfig, FilterCounts, PairFilter, in_other_language

PAIRS = [
    ("one", "un"),
    ("", "vide"),
    (" ", "blanc"),
    ("same", "same"),
    ("one", "un"),
    ("a short side", "un côté qui est beaucoup, beaucoup plus long que l'autre"),
    ("x" * 50, "y" * 50),
]


def filtered(**settings: object) -> tuple[list[tuple[str, str]], FilterCounts]:
    counts = FilterCounts()
    kept = PairFilter(FilterConfig.model_validate(settings)).keep(PAIRS, counts)
    assert counts.read == len(PAIRS)
    assert counts.kept == len(kept) == len(PAIRS) - sum(counts.dropped.values())
    return kept, counts


def test_only_empty_sides_are_dropped_by_default() -> None:
    kept, counts = filtered()
    assert kept == [PAIRS[0], *PAIRS[3:]]
    assert counts.dropped == {"empty": 2}
    assert str(counts) == "7 pairs, 5 kept (dropped: 2 empty)"


@pytest.mark.parametrize(
    ("settings", "dropped", "place"),
    [
        ({"identical": True}, "identical", 3),
        ({"duplicates": True}, "duplicates", 4),
        ({"max_ratio": 3.0}, "ratio", 5),
        ({"max_characters": 49}, "characters", 6),
    ],
)
def test_each_filter_drops_its_pair(settings: dict[str, object], dropped: str, place: int) -> None:
    kept, counts = filtered(**settings)
    assert counts.dropped.pop(dropped) >= 1
    assert PAIRS[place] not in kept[1:]
    if dropped != "characters":
        assert counts.dropped == {"empty": 2, dropped: 1}


def test_the_ratio_of_short_texts_is_ignored() -> None:
    counts = FilterCounts()
    pairs = [("no", "certainement pas"), ("I", "je le veux bien, ma foi")]
    kept = PairFilter(FilterConfig(max_ratio=2.0)).keep(pairs, counts)
    assert kept == pairs[:1]


def test_duplicates_are_found_across_corpora() -> None:
    filters = PairFilter(FilterConfig(duplicates=True))
    first, second = FilterCounts(), FilterCounts()
    assert filters.keep([("a", "b"), ("b", "a")], first) == [("a", "b"), ("b", "a")]
    assert filters.keep([("a", "b")], second) == []
    assert str(second) == "1 pairs, 0 kept (dropped: 1 duplicates)"


def test_sides_in_the_other_language_are_recognised() -> None:
    english, french = "The weather is very nice today.", "Il fait vraiment très beau aujourd'hui."
    pairs = [(english, french), (french, english), (english, english), ("Paris", "Paris")]
    assert in_other_language(pairs, ("en", "fr")) == [False, True, True, False]
    assert in_other_language([], ("en", "fr")) == []


def test_a_language_that_lingua_does_not_know_is_named() -> None:
    with pytest.raises(ConfigError, match=r"filters\.language: 'xx' is not a language"):
        in_other_language([("a", "b")], ("xx", "en"))


def test_pairs_with_a_held_out_side_are_dropped() -> None:
    counts = FilterCounts()
    pairs = [("one", "un"), ("two", "deux"), ("uno", "un"), ("three", "trois")]
    kept = PairFilter(FilterConfig(held_out=True), {"un", "three"}).keep(pairs, counts)
    assert kept == [("two", "deux")]
    assert counts.dropped == {"held_out": 3}
