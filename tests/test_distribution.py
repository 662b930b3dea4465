"""The name of the distribution, and its version in the documentation."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from app import __version__
from tests.cases import cases

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SUFFIXES = {".md", ".py", ".toml", ".yml", ".yaml", ".txt", ".cfg", ""}
BY_NAME = re.compile(
    r"(?:pip3?|pipx|uv tool) install\b[^\n`]*?[\s'\"]attend(?:[-_.]server)?(?![\w/.-])"
)
"""Installation by name of `attend`, which is another project, or of `attend-server`, which no index
has, with or without extras and a version."""


def texts() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    paths = [ROOT / name for name in listed if name]
    return [path for path in paths if path.suffix in SUFFIXES and path.is_file()]


@pytest.mark.parametrize(
    ("text", "found"), cases(__file__, "what_counts_as_an_installation_by_name")
)
def test_what_counts_as_an_installation_by_name(text: str, found: bool) -> None:
    assert bool(BY_NAME.search(text)) is found


def test_no_text_recommends_what_does_not_install_this_project() -> None:
    files = [path for path in texts() if path != Path(__file__)]
    assert len(files) > 100
    for path in files:
        text = path.read_text("utf-8")
        assert not BY_NAME.search(text), path
        assert not re.search(r"(?<![\w.])attend\[[a-z]", text), path


def test_it_is_called_attend_server_and_its_command_attend() -> None:
    assert PYPROJECT["project"]["name"] == "attend-server"
    assert list(PYPROJECT["project"]["scripts"]) == ["attend"]


def test_images_and_the_change_log_have_its_version() -> None:
    for name in ("docker-compose.yml", "docs/deploy.md"):
        tags = re.findall(r"\battend:(\d+\.\d+\.\d+)", (ROOT / name).read_text("utf-8"))
        assert set(tags) == {__version__}, name
    kustomization = ROOT / "deploy" / "kubernetes" / "base" / "kustomization.yaml"
    assert f"newTag: {__version__}\n" in kustomization.read_text("utf-8")
    released = re.findall(r"^## (\d\S+) – ", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert released[0] == __version__


def test_wheels_that_the_docs_name_have_its_version() -> None:
    for path in texts():
        if path.suffix == ".md":
            named = re.findall(r"attend_server-(\d[^-]*)-py3", path.read_text("utf-8"))
            assert set(named) <= {__version__}, path


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md"])
def test_paths_in_the_pages_for_contributors_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    paths = re.findall(r"`((?:\w+/)+[\w.]*)`", text) + re.findall(r"\]\(([^):#]+)[)#]", text)
    assert len(paths) > 1
    for path in set(paths) - {"dist/"}:  # written by a release
        assert (ROOT / path).exists(), path


def test_pre_commit_runs_the_tools_of_the_environment() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    entries = re.findall(r"entry: (\S+)", text)
    assert {Path(entry).name for entry in entries} == {"ruff", "mypy"}
    assert all(entry.startswith(".venv/bin/") for entry in entries)
