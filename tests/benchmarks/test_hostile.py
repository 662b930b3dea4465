from __future__ import annotations

import time

import pytest

from benchmarks.hostile import main, measured, read
from benchmarks.hostile_inputs import FORMS, Case, cases

MENDED = [
    ("text", "'«' again and again"),
    ("text", "'`' again and again"),
    ("text", "'<!--' again and again"),
    ("text", "'<a>a' again and again"),
    ("text", "'0' behind ('http://a', '%', '<a ', 'a@')"),
    ("text", "'.' behind ('http://a', '%', '<a ', 'a@')"),
    (".txt", "'«' again and again"),
    (".srt", "'«' again and again"),
    (".docx", "'<w:p>' … '</w:p>' nested"),
    (".docx", "'<w:ins>' … '</w:ins>' nested"),
]
"""Cases that took the square of their length."""


@pytest.mark.parametrize("form", FORMS)
def test_every_case_is_named_once_and_about_as_long_as_asked(form: str) -> None:
    found = list(cases(form))
    assert len({case.name for case in found}) == len(found)
    assert len(list(cases(form, is_own=True))) < len(found)
    if form in ("text", "html"):
        assert all(900 <= len(case.make(1000)) <= 1100 for case in found)


@pytest.mark.parametrize(("form", "name"), MENDED)
def test_what_took_the_square_of_its_length_is_read_in_time(form: str, name: str) -> None:
    [case] = [case for case in cases(form) if case.name == name]
    data = case.make(60_000)
    began = time.process_time()
    assert read(form, data) in ("read", "refused")
    assert time.process_time() - began < 3


def test_what_fails_is_told() -> None:
    def nothing(_: int) -> str:
        return "<a>"

    assert measured(Case("xml", "not closed", nothing), 10, 5).outcome == "refused"
    broken = Case("text", "no text at all", lambda _: None)  # type: ignore[arg-type, return-value]
    assert measured(broken, 10, 5).outcome.startswith("AttributeError")


def test_a_row_for_every_parser(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.hostile.cases", lambda form, is_own: list(cases(form))[:2])
    main(["--forms", "text", ".json", "--size", "100"])
    assert [line.split(" | ")[:4] for line in capsys.readouterr().out.splitlines()[-2:]] == [
        ["| text", "2", "0", "0"],
        ["| .json", "2", "0", "0"],
    ]
