from pathlib import Path

import pytest

from app.errors import PullError
from app.hub.names import check_revision, is_name, repository_of


@pytest.mark.parametrize(
    ("name", "repository"),
    [
        ("opus-mt-en-de", "Helsinki-NLP/opus-mt-en-de"),
        ("opus-mt-tc-big-en-cat_oci_spa", "Helsinki-NLP/opus-mt-tc-big-en-cat_oci_spa"),
        ("facebook/m2m100_418M", "facebook/m2m100_418M"),
        ("quickmt-fr-en", "quickmt/quickmt-fr-en"),
    ],
)
def test_names_are_completed(name: str, repository: str) -> None:
    assert repository_of(name) == repository
    assert is_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "m2m100", "/m2m100", "facebook/", "a/b/c", "../etc", "a/..", "a/b..c", "a b/c", "a/b\n"],
)
def test_other_names_are_refused(name: str) -> None:
    assert not is_name(name)
    with pytest.raises(PullError, match="neither a folder nor a name"):
        repository_of(name)


def test_a_local_folder_is_not_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_name("opus-mt-en-de")
    Path("opus-mt-en-de").mkdir()
    assert not is_name("opus-mt-en-de")


@pytest.mark.parametrize("revision", ["main", "v1.0", "refs/pr/3", "0" * 40])
def test_revisions_are_branches_tags_and_commits(revision: str) -> None:
    assert check_revision(revision) == revision


@pytest.mark.parametrize("revision", ["", "../main", "a b", "-x", "main\n", "x" * 300])
def test_other_revisions_are_refused(revision: str) -> None:
    with pytest.raises(PullError, match="not the name of a revision"):
        check_revision(revision)
