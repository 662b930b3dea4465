import re
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.files import ROOT, check_schema, read_yaml

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def jobs(workflow: Path) -> list[dict[str, Any]]:
    return list(read_yaml(workflow)["jobs"].values())


@pytest.mark.parametrize(
    ("schema", "file"),
    [("github-workflows", path) for path in WORKFLOWS]
    + [("dependabot", GITHUB / "dependabot.yml")],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_the_file_has_the_published_schema(schema: str, file: Path) -> None:
    check_schema(schema, file)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_the_work_is_done_by_make_so_that_it_can_be_done_at_home(workflow: Path) -> None:
    commands = [step["run"] for job in jobs(workflow) for step in job["steps"] if "run" in step]
    made = {target for run in commands for target in re.findall(r"make ([a-z]+)", run)}
    assert made
    assert made <= TARGETS
    assert not [run for run in commands if re.search(r"\bpip\b|\bpytest\b|docker build ", run)]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_ends_in_time_and_has_no_rights_that_it_does_not_need(workflow: Path) -> None:
    assert read_yaml(workflow)["permissions"] == {"contents": "read"}
    for job in jobs(workflow):
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            # External input in a shell line would be executed.
            assert "github." not in step.get("run", "")
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False


def test_the_oldest_and_the_newest_supported_python_are_tested() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    supported = re.findall(r"Python :: (3\.\d+)", pyproject)
    test = read_yaml(GITHUB / "workflows" / "test.yml")["jobs"]["test"]
    assert test["strategy"]["matrix"]["python"] == [supported[0], supported[-1]]
