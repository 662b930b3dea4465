from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.facts.code import find_code
from app.text.facts.identifiers import find_identifiers
from app.text.facts.kept import _find_names, _may_have_kept, find_kept
from tests.linear import assert_linear


def kept(text: str, language: str = "en") -> list[str]:
    return [span.of(text) for span in find_kept(text, language)]


@pytest.mark.parametrize(
    "fact",
    [
        "01 42 68 53 00", "+33 1 42 68 53 00", "(555) 123-4567", "555-1234", "020 7946 0958",
        "06.12.34.56.78", "0612345678", "1-800-555-0123", "+81 3-1234-5678", "0033 1 53 12 80 00",
        "FR76 3000 6000 0112 3456 7890 189", "4970 1012 3456 7890", "552 100 554 00012",
        "123-45-6789", "BA2490", "A320", "AB-1234-X", "1Z999AA10123456784", "978-3-16-148410-0",
        "550e8400-e29b-41d4-a716-446655440000", "a1b2c3d4e5f6", "DE89370400440532013000",
        "`ls -la`", "```a b```", "C:\\Temp\\a.txt", "C:\\Program Files\\Acme\\run.exe",
        "/etc/hosts",
        "~/notes.txt", "src/main.py", "\\\\nas\\share", "./configure", "../a/b.csv", "README.md",
        "backup.tar.gz", ".gitignore", "--force=yes", "-v", "$HOME", "%APPDATA%", "snake_case",
        "__init__", "myVariable", "f(x)", "len(items)", "save_all()", "key=value", "x==10", "0xFF",
        "#000000", "Ctrl+Shift+T", "Alt+F4", "r/france", 'class="a-b"',
        "#ff8800", "^\\d+$", "[a-z]+", ".*\\.py", "192.168.1.1", "127.0.0.1:8080", "10.0.0.0/24",
        "00:1A:2B:3C:4D:5E", "fe80::1", "v2.3.1", "1.2.10", "3.0.0-beta.2", "localhost:5432",
        "example.com", "docs.python.org/3/", '{"a": 1}', "#fun", "@anna_k", "Acme Inc.",
        "Smith & Sons Ltd", "Windows®", "Coca-Cola™", "2024-05-12", "12/05/2024",
        "FR 40 303 265 045", "MH/2023/00417", "14 bis", "HEAD~1", "HEAD^^",
        "48°51′24″N 2°21′07″E", "51°30'N", "48.8566, -2.3522", '27"', "6'2\"", '3-1/2"',
        "x^2", "10^-6",
        "QQ 12 34 56 C", "SW1A 2AA", "K1A 0B1", "w3m", "example.shop/fr", "/api/users/x?id=7",
        "pip install -U requests", "npm run dev", "git push origin/main",
    ],
)  # fmt: skip
def test_spans_that_are_copied(fact: str) -> None:
    assert kept(f"we saw {fact} there, then left") == [fact]
    assert kept(f"on a vu {fact} là-bas", "fr") == [fact]


@pytest.mark.parametrize(
    "text",
    [
        "and/or, he/she, km/h, 24h/24, 7j/7", "mot(s), étudiant(e)s, file(s), cheval(aux)",
        "R+D, a+b, C++, 5+3, w/out",
        "100km, 30ft, 5kg, 90-year-old, mid-2019, 1990s, 21st, Q3 2024, COVID-19, G20, MP3",
        "1,234,567.5 and 1'234'567 and 3.14 and -5 and 50% and 16:9 and 3/4 and 12:30",
        "12 500 000 euros et 1 234 567 habitants", "iPhone, eBay, macOS, YouTube, U.S.A., p.m.",
        "$1,234.50, US$ 50, 50 $US, $5", "2019-2020, 1962 - 1965, pages 10-20, 5-7 km",
        "aujourd'hui, c'est-à-dire, Vas-y!", "- Oui, dit-il.", "-Oui, dit-il.", "# Title", "a @ b",
        "Directive 94/57/EC", "the end.Then he left", "No. 7, art. 5", "Inc. is a suffix",
        '"I am 27", he said', '"27" is a "number 5"', "20 °C, 2.5, 3.5",
        "(#855489)", 'alt="A long description"',
    ],
)  # fmt: skip
def test_spans_that_are_translated_or_no_facts(text: str) -> None:
    assert not kept(text)
    assert not kept(text, "fr")


def test_a_labelled_number_is_an_identifier() -> None:
    assert kept("order number 48213 and PIN 0042, n° 1234") == ["48213", "PIN 0042", "1234"]
    assert not kept("a number of 48213 people")


def test_a_number_with_check_digits_is_one_of_its_country() -> None:
    assert kept("Le SIREN 732 829 320.", "fr") == ["732 829 320"]
    assert not kept("Il y a 732 829 320 habitants.", "fr")
    assert not kept("732 829 321 en tout", "fr")


def test_marks_around_code_are_not_part_of_it() -> None:
    assert kept("(see src/main.py), “a_b”; l'option --x, d'app.py.") == [
        "src/main.py", "a_b", "--x", "app.py",
    ]  # fmt: skip


@given(st.text("aAbI .,:;!?-'’()\n1`@", max_size=12))
def test_plain_text_is_recognised_by_a_few_characters(text: str) -> None:
    found = [*find_code(text), *_find_names(text), *find_identifiers(text, "en")]
    assert _may_have_kept(text) or not found


@given(st.text("0123456789aAbB .,:;/-_()[]{}`'\"\\$#@=+™^*~%\n", max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    spans = list(find_kept(text, "fr"))
    assert spans == sorted(spans)
    assert all(start < end for start, end in spans)
    assert all(one.end <= other.start for one, other in pairwise(spans))


UNITS = (
    "1", "1 ", "a1", "A1", "`", "`a", "/a", "\\a", " -a", "$a", "a.", "(a", "a(", "@a", "#a", "A ",
    "A1-", "é1", "1.", "+1", "a_", "a=", '{"', "[a", "Ab ", "C:\\a ", "a.b", "1-", "(1", " 00 1",
    "aB",
    "~/", "a::", "^a", "a\\n", "A & ", "a™", "12 12 12", "FR76 1234 ", "1/1/", "0x1", "--a=", "%a%",
    "l'a'", "a1`b2` ", "0x1f`",
)  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_time_is_linear_in_the_length(unit: str) -> None:
    assert_linear(lambda n: find_kept(unit * n, "fr"), 100_000 // len(unit))
