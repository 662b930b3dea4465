"""A wheel as built by pip: its content, and that it runs where it is unpacked."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path

import pytest

from app import __version__

ROOT = Path(__file__).parent.parent
FOLDERS = ("app", "model", "checkpoints", "recipes")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "NOTICE")
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


def files_of(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkout = tmp_path_factory.mktemp("checkout")
    for folder in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, checkout / folder, ignore=ignored)
    for file in FILES:
        shutil.copy(ROOT / file, checkout)
    # An earlier build of a module that no longer exists.
    (checkout / "build" / "lib" / "app").mkdir(parents=True)
    (checkout / "build" / "lib" / "app" / "gone.py").write_text("")
    return checkout


def build(checkout: Path, target: Path, umask: int) -> Path:
    subprocess.run(
        [sys.executable, "-c", BUILD, str(target)],
        cwd=checkout, env=os.environ | {"SOURCE_DATE_EPOCH": "1764288000"},
        check=True, capture_output=True, umask=umask,
    )  # fmt: skip
    [wheel] = target.iterdir()
    return wheel


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(checkout, tmp_path_factory.mktemp("dist"), umask=0o077)


def test_its_name_is_the_distributions(wheel: Path) -> None:
    assert wheel.name == f"attend_server-{__version__}-py3-none-any.whl"


def test_two_builds_are_equal_under_any_umask(wheel: Path, checkout: Path, tmp_path: Path) -> None:
    for path in files_of(checkout):
        os.utime(path, (0, 1_000_000_000))
    assert build(checkout, tmp_path, umask=0o022).read_bytes() == wheel.read_bytes()
    with zipfile.ZipFile(wheel) as file:
        files = [one for one in file.infolist() if not one.filename.endswith("/RECORD")]
    assert {oct(one.external_attr >> 16 & 0o777) for one in files} == {"0o644"}


def test_it_contains_only_the_packages_and_shipped_files(wheel: Path) -> None:
    expected = {
        f"{'app/' if folder in ('checkpoints', 'recipes') else ''}{path.relative_to(ROOT)}"
        for folder in FOLDERS
        for path in files_of(ROOT / folder)
    }
    assert {
        "app/main.py", "app/py.typed", "model/py.typed", "app/recipes/en-fr.toml",
        "app/checkpoints/en-fr/model.safetensors", "app/checkpoints/en-fr/CARD.md",
    } <= expected  # fmt: skip
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == expected


def test_its_metadata(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    folder = f"attend_server-{__version__}.dist-info"
    metadata = message_from_string(archive.read(f"{folder}/METADATA").decode())
    assert metadata["Name"] == "attend-server"
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert {f"{folder}/licenses/{name}" for name in ("LICENSE", "NOTICE")} <= set(
        archive.namelist()
    )
    [torch] = [r for r in metadata.get_all("Requires-Dist", []) if re.match(r"torch\b", r)]
    assert re.fullmatch(r"torch>=[\d.]+", torch)
    entry_points = archive.read(f"{folder}/entry_points.txt").decode()
    assert "attend = app.cli.main:main" in entry_points.splitlines()


def test_unpacked_it_finds_its_own_checkpoint_and_recipe(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    environment = os.environ | {"PYTHONPATH": str(site)}
    program = (
        "import app, app.shipped\n"
        "from model.checkpoint.reader import load_checkpoint\n"
        "print(load_checkpoint(app.shipped.SHIPPED_CHECKPOINT).config.name)\n"
        "print(app.shipped.SHIPPED_CHECKPOINT)\n"
        "print(app.shipped.recipe_path('en-fr'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    package = site / "app"
    assert done.stdout.splitlines() == [
        "en-fr", str(package / "checkpoints" / "en-fr"), str(package / "recipes" / "en-fr.toml"),
    ]  # fmt: skip
