from app.text.remembered import MAX_CHARACTERS, remembered


def test_results_of_short_texts_are_kept() -> None:
    read: list[str] = []

    @remembered
    def length(text: str) -> int:
        read.append(text)
        return len(text)

    long = "a" * (MAX_CHARACTERS + 1)
    assert [length(text) for text in ("ab", "ab", long, long)] == [2, 2, len(long), len(long)]
    assert read == ["ab", long, long]
