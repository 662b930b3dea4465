from pathlib import Path

import pytest

from tests.app.cli.conftest import Attend
from tests.marian_folder import MakeFolder


def test_import_of_an_export_is_equal(
    attend: Attend, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    exported = attend("export", "marian", tiny_checkpoint, tmp_path / "theirs")
    assert exported.stdout == f"wrote {tmp_path / 'theirs'}: MarianMTModel\n"
    assert exported.stderr == ""
    assert attend("import", "marian", tmp_path / "theirs", tmp_path / "ours").exit_code == 0
    for path in tiny_checkpoint.iterdir():
        assert (tmp_path / "ours" / path.name).read_bytes() == path.read_bytes()


def test_ctranslate2_faults_are_reported(
    attend: Attend, make_folder: MakeFolder, tmp_path: Path
) -> None:
    attend("import", "marian", make_folder(), tmp_path / "ours")
    result = attend("export", "marian", tmp_path / "ours", tmp_path / "theirs")
    assert result.exit_code == 0
    assert (
        "attend: CTranslate2 would convert it wrongly: the sides have 4 and 2 heads\n"
        in result.stderr
    )


def test_the_other_form_is_named(attend: Attend, tiny_checkpoint: Path, tmp_path: Path) -> None:
    result = attend("export", "pegasus", tiny_checkpoint, tmp_path / "theirs")
    assert result.exit_code == 1
    assert "norm_order 'post' (export marian can)" in result.stderr


@pytest.mark.parametrize("form", ["marian", "pegasus"])
def test_no_checkpoint_is_reported_in_one_line(attend: Attend, tmp_path: Path, form: str) -> None:
    result = attend("export", form, tmp_path / "x", tmp_path / "theirs")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
