"""The patterns of generated facts match their own sentences."""

from typing import get_args

import pytest

from benchmarks.generated_facts import FRAMES, Language, sentences

COUNT = 1_000


@pytest.mark.parametrize("language", get_args(Language))
def test_no_sentence_is_wrong_in_itself(language: Language) -> None:
    generated = sentences(language, COUNT, seed=5)
    assert {one.kind for one in generated} >= FRAMES[language].keys()
    for one in generated:
        assert not one.is_wrong_in(one.text), one


@pytest.mark.parametrize("language", get_args(Language))
def test_each_is_corrupted_by_another_sentence_or_a_lost_character(language: Language) -> None:
    generated = sentences(language, COUNT, seed=6)
    for one in generated:
        assert one.is_wrong_in("")
        assert one.is_wrong_in(f"{one.text}\ufffd")
    by_kind: dict[str, list[bool]] = {}
    for one, other in zip(generated, sentences(language, COUNT, seed=7), strict=True):
        assert one.kind == other.kind
        by_kind.setdefault(one.kind, []).append(one.is_wrong_in(other.text))
    for kind, corrupted in by_kind.items():
        assert sum(corrupted) > len(corrupted) / 2, kind


def test_the_same_seed_gives_the_same_sentences() -> None:
    assert sentences("fr", 50, 1) == sentences("fr", 50, 1) != sentences("fr", 50, 2)
