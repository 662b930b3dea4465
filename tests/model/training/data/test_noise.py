from collections.abc import Callable
from random import Random

import pytest

from model.training.data.noise import (
    NoiseConfig,
    Pair,
    random_name,
    random_number,
    random_placeholder,
    random_url,
    substitute_shared_word,
    thing_to_copy,
    typographic,
)

PAIR = Pair('Did Tom say: "It\'s 25"?', "Tom a-t-il dit : « C'est 25 » ?")
KINDS = sorted(NoiseConfig.model_fields.keys() - {"join"})


@pytest.mark.parametrize(
    "function", [random_name, random_number, random_placeholder, random_url, thing_to_copy]
)
def test_things_to_copy_are_one_word_and_follow_the_seed(function: Callable[[Random], str]) -> None:
    first, second = ([function(random) for _ in range(300)] for random in (Random(5), Random(5)))
    assert first == second
    assert len(set(first)) > 20
    assert all(text and text == text.strip() and " " not in text for text in first)


def test_without_probabilities_nothing_changes() -> None:
    random = Random(1)
    assert all(NoiseConfig().apply(PAIR, random) == PAIR for _ in range(50))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_follows_the_seed_and_at_1_always_changes_the_pair(kind: str) -> None:
    noise = NoiseConfig.model_validate({kind: 1.0})
    for seed in range(50):
        noised = noise.apply(PAIR, Random(seed))
        assert noised != PAIR
        assert noised == noise.apply(PAIR, Random(seed))


@pytest.mark.parametrize(
    ("kind", "pair", "noised"),
    [
        ("lowercase_source", PAIR, Pair(PAIR.source.lower(), PAIR.target)),
        ("uppercase", PAIR, Pair(PAIR.source.upper(), PAIR.target.upper())),
        ("drop_final_punctuation", Pair("Why…?", "Pourquoi ?"), Pair("Why", "Pourquoi")),
        ("typographic_source", PAIR, Pair("Did Tom say: “It’s 25”?", PAIR.target)),
    ],
)
def test_what_each_kind_changes(kind: str, pair: Pair, noised: Pair) -> None:
    assert NoiseConfig.model_validate({kind: 1}).apply(pair, Random(0)) == noised


def test_typographic() -> None:
    assert typographic("L'as-tu vu ? « Oui » !") == "L’as-tu vu\xa0? « Oui\xa0»\xa0!"


def test_copy_only_pairs_are_equal() -> None:
    noise = NoiseConfig(copy_only=1)
    for seed in range(100):
        pair = noise.apply(PAIR, Random(seed))
        assert pair.source == pair.target


def test_attached_thing_is_at_the_same_end_of_both_sides() -> None:
    ends = set()
    for seed in range(50):
        source, target = NoiseConfig(attach=1).apply(Pair("a b", "c d"), Random(seed))
        if source.endswith("a b"):
            assert source.removesuffix("a b") == target.removesuffix("c d")
        else:
            assert source.removeprefix("a b") == target.removeprefix("c d")
        ends.add(source.endswith("a b"))
    assert ends == {True, False}


def test_substituted_word_is_on_both_sides_exactly_once() -> None:
    pair = Pair("I know Tom well.", "Je connais Tom.")
    for seed in range(30):
        source, target = substitute_shared_word(pair, Random(seed))
        replacement = source.removeprefix("I know ").removesuffix(" well.")
        assert replacement != "Tom"
        assert target == f"Je connais {replacement}."


def test_numbers_are_substituted_by_numbers() -> None:
    for seed in range(30):
        source, target = substitute_shared_word(Pair("in 1998", "en 1998"), Random(seed))
        assert source.removeprefix("in ") == target.removeprefix("en ")
        assert source.removeprefix("in ")[0].isdigit()


@pytest.mark.parametrize(
    "pair",
    [
        Pair("Tom saw Tom.", "Tom a vu Tom."),
        Pair("Tom left.", "Il est parti."),
        Pair("nothing shared", "rien"),
        Pair("Dan is at home.", "Dans la maison, il y a Dan."),
    ],
)
def test_an_ambiguous_or_absent_word_is_left_alone(pair: Pair) -> None:
    assert substitute_shared_word(pair, Random(0)) == pair


def test_a_word_that_is_part_of_another_is_left_alone() -> None:
    changed = substitute_shared_word(Pair("Ann met Anna.", "Ann a vu Anna."), Random(0))
    assert changed.source.startswith("Ann met ")
    assert changed.target.startswith("Ann a vu ")
    assert "Anna" not in changed.source + changed.target


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_probabilities_are_within_0_and_1(value: float) -> None:
    with pytest.raises(ValueError, match="join"):
        NoiseConfig(join=value)
