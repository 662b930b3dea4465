import pytest

from app.translation.answers import Alternative, TranslateAnswer, Translation, Usage
from app.wire.dialects.libretranslate import LibreTranslateAnswer, LibreTranslateRequest


def answer(*texts: tuple[str, list[str]]) -> TranslateAnswer:
    """Make an answer of texts and their other hypotheses."""
    return TranslateAnswer(
        model="tiny",
        usage=Usage(characters=1, source_tokens=1, target_tokens=1),
        translations=[
            Translation(
                text=text, source="en", target="fr", score=-1, confidence=0.5, flags=[],
                alternatives=[Alternative(text=other, score=-2) for other in others],
            )
            for text, others in texts
        ],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("others", "alternatives"),
    [
        (["un", "deux"], ["un", "deux"]),
        (["un", "une maison", "deux", "un", ""], ["un", "deux"]),  # tokens differ, texts do not
        (["une maison"], []),
    ],
)
def test_alternatives_differ_from_the_texts_before_them(
    others: list[str], alternatives: list[str]
) -> None:
    words = {"source": "en", "target": "fr", "alternatives": 3}
    one = LibreTranslateRequest.parse({"q": "a house", **words})
    assert LibreTranslateAnswer.of(one, answer(("une maison", others))).alternatives == alternatives
    two = LibreTranslateRequest.parse({"q": ["a house", "a cat"], **words})
    both = answer(("une maison", others), ("un chat", ["un"]))
    assert LibreTranslateAnswer.of(two, both).alternatives == [alternatives, ["un"]]
