import pytest

from app.text.scripts import FEW_SPACES, UNSPACED

SPACED = ["word", "mot", "слово", "λέξη", "كلمة", "מילה", "शब्द", "ቃል", "1", "…"]


@pytest.mark.parametrize("word", ["คำ", "ຄຳ", "စကား", "ពាក្យ", "字", "ことば", "カナ", "𠮷", "々"])
def test_words_without_blanks_between_them(word: str) -> None:
    assert UNSPACED.search(word)
    assert FEW_SPACES.search(word)


@pytest.mark.parametrize("word", ["단어", "ㄱ", "한국어"])
def test_korean_has_blanks_but_fewer_than_words(word: str) -> None:
    assert not UNSPACED.search(word)
    assert FEW_SPACES.search(word)


@pytest.mark.parametrize("word", SPACED)
def test_words_with_blanks_between_them(word: str) -> None:
    assert not FEW_SPACES.search(word)
