import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.accounts.glossary_entries import EntriesFormat, entries_as_tsv, parse_entries
from app.errors import InvalidRequestError


def test_a_line_each_with_a_tab_between() -> None:
    text = "\ufeffcredit card\tcarte bleue\r\n\n  dog \t chien \n"
    assert parse_entries(text, "tsv") == {"credit card": "carte bleue", "dog": "chien"}
    assert entries_as_tsv({"a": "b", "c d": "e"}) == "a\tb\nc d\te"


def test_csv_has_quotes_and_may_name_the_languages() -> None:
    text = '"cat, big","un ""chat""",en,fr\ndog,chien\n\n'
    assert parse_entries(text, "csv") == {"cat, big": 'un "chat"', "dog": "chien"}


@pytest.mark.parametrize(
    ("text", "form", "reason"),
    [
        ("", "tsv", "at least one"),
        (" \n\t\n", "tsv", "at least one"),
        ("a", "tsv", "Entry 1 should have"),
        ("a\tb\nc\td\te", "tsv", "Entry 2 should have"),
        ("a,b,en,fr,x", "csv", "Entry 1 should have"),
        ("a\t ", "tsv", "Entry 1 has an empty term"),
        ("a\tb\n\na \tc", "tsv", "Entry 3 repeats a source term"),
        ("a\tb\rc", "tsv", "control character"),
        ("a\tb\x85c", "tsv", "control character"),
        ("a\u2028a\tb", "tsv", "control character"),
        ("a\ud800\tb", "tsv", "control character"),
        ("é" * 513 + "\tb", "tsv", "1,024 bytes"),
        ('a,"b', "csv", "Invalid CSV"),
        ('a,"b"c', "csv", "Invalid CSV"),
        ("a,b\x00", "csv", "Entry 1 has a control|Invalid CSV"),
    ],
)
def test_the_first_fault_is_reported(text: str, form: EntriesFormat, reason: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_entries(text, form)
    [fault] = caught.value.errors
    assert fault.pointer == "/entries"
    assert any(one in fault.detail for one in reason.split("|"))


TERMS = (
    st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="\ufeff"))
    .map(str.strip)
    .filter(bool)
)


@given(st.dictionaries(TERMS, TERMS, min_size=1))
def test_what_is_written_is_read_again(entries: dict[str, str]) -> None:
    assert parse_entries(entries_as_tsv(entries), "tsv") == entries


@pytest.mark.parametrize("form", ["tsv", "csv"])
def test_no_byte_order_mark_gets_into_a_term(form: EntriesFormat) -> None:
    text = "\ufeff\ufeffcat\tchat\n\ufeff\n\ufeffdog\tchien\n"
    text = text.replace("\t", "," if form == "csv" else "\t")
    assert parse_entries(text, form) == {"cat": "chat", "dog": "chien"}
