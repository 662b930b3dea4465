import os
import platform
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import report as report_module
from benchmarks.report import BEGIN, END, Report, insert, machine, main


@pytest.fixture
def report() -> Report:
    return Report(
        name="decode",
        title="Decoding: x",
        settings={"threads": 2},
        columns={"System": "", "Tokens/s": ",.0f", "Same": ".1%"},
        rows=[
            {"System": "attend", "Tokens/s": 1234.5, "Same": 1, "rates": [1.0]},
            {"System": "other", "Tokens/s": 99.0, "Same": None},
        ],
        notes=["A note."],
        date="2026-01-02T03:04:05+00:00",
        machine={"processor": "P", "cores": 2},
        versions={"python": "3.11"},
    )


def test_markdown_by_hand(report: Report) -> None:
    assert report.markdown() == (
        "### Decoding: x\n\n"
        "| System | Tokens/s | Same |\n"
        "| --- | ---: | ---: |\n"
        "| attend | 1,234 | 100.0% |\n"
        "| other | 99 |  |\n\n"
        "A note.\n\n"
        "threads 2  \npython 3.11  \nprocessor P, cores 2; 2026-01-02T03:04:05+00:00"
    )


def test_the_machine_is_described_without_features_of_linux(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = machine()
    monkeypatch.setattr(report_module, "CPUINFO", Path("/missing"))
    monkeypatch.delattr(os, "sched_getaffinity")
    elsewhere = machine()
    assert elsewhere["processor"] == platform.processor()
    assert elsewhere["cores"] == os.cpu_count()
    assert elsewhere["memory_gb"] == here["memory_gb"]


def test_tables_are_replaced(report: Report, tmp_path: Path) -> None:
    page, file = tmp_path / "page.md", tmp_path / "x.json"
    page.write_text(f"before\n\n{BEGIN}\nold\n{END}\nafter\n")
    report.write(file)
    for _ in range(2):
        result = CliRunner().invoke(main, [str(page), str(file), str(file)])
        assert result.exit_code == 0
    table = report.markdown()
    assert page.read_text() == f"before\n\n{BEGIN}\n\n{table}\n\n{table}\n\n{END}\nafter\n"


@pytest.mark.parametrize("page", ["", BEGIN, END, f"{END}{BEGIN}"])
def test_a_page_without_marks_is_refused(page: str, report: Report) -> None:
    with pytest.raises(ValueError, match="tables"):
        insert(page, [report])


def test_the_machine_and_the_versions_are_recorded() -> None:
    report = Report("x", "X", {}, {}, [])
    assert report.machine["cores"]
    assert report.versions["attend"]
    assert report.versions["numpy"]
