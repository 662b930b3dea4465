"""NOTICE is up to date, and its licences require no more than a notice."""

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from deploy.image.notice import NOTICE, ROOT, closure, licence, notice, runtime_requirements
from tests.cases import cases

PERMITTED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "CNRI-Python", "MIT", "PSF-2.0", "Zlib",
    "MPL-2.0",  # applies per file, to modifications of the package itself
}  # fmt: skip


def has_versions_of_image() -> bool:
    """Whether Python and packages have the versions of constraints.txt and the Dockerfile."""
    if sys.version_info[:2] != (3, 11):
        return False
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        pinned = Requirement(line)
        if pinned.marker and not pinned.marker.evaluate():
            continue
        try:
            if not pinned.specifier.contains(version(pinned.name)):
                return False
        except PackageNotFoundError:
            continue
    return True


@pytest.mark.skipif(not has_versions_of_image(), reason="not the versions of constraints.txt")
def test_it_names_what_is_installed_and_the_corpora_of_the_card() -> None:
    written = NOTICE.read_text("utf-8")
    assert written == notice(), "NOTICE is of other versions: python -m deploy.image.notice"
    assert "Tatoeba" in written


def test_every_licence_in_it_permits_the_image_to_be_passed_on() -> None:
    table = NOTICE.read_text("utf-8").partition("SPDX expressions.\n\n")[2].partition("\n\n")[0]
    rows = [line.split(maxsplit=1) for line in table.splitlines()]
    assert len(rows) > 40
    for name, expression in rows:
        assert set(re.split(r" AND | OR ", expression)) <= PERMITTED, name


def test_every_package_brings_the_text_of_its_licence() -> None:
    for name, package in closure(runtime_requirements()).items():
        files = [str(path) for path in package.files or ()]
        texts = [path for path in files if re.search(r"(?i)licen[cs]e|copying|notice", path)]
        assert texts or f"for {name}" in NOTICE.read_text("utf-8"), name


def of(folder: Path, metadata: str) -> Distribution:
    (folder / "METADATA").write_text(metadata)
    return Distribution.at(folder)


@pytest.mark.parametrize(("name", "metadata", "expected"), cases(__file__, "reading_metadata"))
def test_reading_metadata(tmp_path: Path, name: str, metadata: str, expected: str | None) -> None:
    package = of(tmp_path, metadata + "\n")
    if expected is None:
        with pytest.raises(ValueError, match=f"{name}: its metadata names no licence"):
            licence(name, package)
    else:
        assert licence(name, package) == expected
