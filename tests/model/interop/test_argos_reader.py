"""Packages of Argos Translate: read like CTranslate2 folders, and unpacked safely."""

import json
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.processors import LogitsProcessors
from model.decoding.rules import HuggingFaceRule
from model.errors import CheckpointError
from model.interop import argos_reader
from model.interop.languages import Languages
from model.interop.marian_folder import project_of
from model.interop.marian_import import import_argos
from tests.argos_package import pack, write_bpe_package, write_package
from tests.ctranslate2_folder import WORDS
from tests.marian_folder import change_json


def imported(package: Path) -> Checkpoint:
    destination = package.with_name(f"{package.name}-ours")
    import_argos(package, destination)
    return load_checkpoint(destination)


def test_a_file_and_its_folder_are_the_same_model(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "en_fr")
    file = pack(folder, tmp_path / "translate-en_fr-1_9.argosmodel")
    assert project_of(folder) == project_of(file) == "argos"
    ours, again = imported(folder), imported(file)
    assert ours.config.directions == [("en", "fr")]
    assert again.config.name == "translate-en_fr-1_9"
    assert again.config.model_copy(update={"name": "en_fr"}) == ours.config
    assert (ours.config.beam_size, ours.config.length_penalty) == (4, 0.2)
    assert ours.config.search_rule == HuggingFaceRule(
        early_stopping=True, max_target_tokens=256, processors="ctranslate2"
    )
    assert ours.config.logits_processors == LogitsProcessors(min_length=1)
    assert ours.tokenizer.source_ids("the cat", "fr")[-1] != ours.tokenizer.eos_id


def test_a_target_prefix_is_the_first_token_and_not_text(tmp_path: Path) -> None:
    ours = imported(write_package(tmp_path / "en_pt", to_code="pb", target_prefix=WORDS[7]))
    assert ours.config.directions == [("en", "pt-BR")]
    first = ours.tokenizer.first_id("pt-BR")
    assert first is not None
    assert first == ours.config.first_id("pt-BR")
    assert ours.tokenizer.piece(first) == WORDS[7]
    assert ours.tokenizer.decode([first]) == ""


def test_languages_may_be_given(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "en_fr")
    config = import_argos(folder, tmp_path / "ours", "ours", Languages(["en"], ["fr-CA"]))
    assert config.directions == [("en", "fr-CA")]


def test_a_package_with_bpe_codes(tmp_path: Path) -> None:
    pytest.importorskip("sacremoses")
    ours = imported(write_bpe_package(tmp_path / "en_pt", to_code="pb"))
    vocabulary = ours.config.marian_vocabulary
    assert vocabulary is not None
    assert vocabulary.moses == ("en", "pb")  # named as by argostranslate
    ids = ours.tokenizer.source_ids("in the cat, and (do)!", "pt-BR")
    pieces = [ours.tokenizer.piece(token_id) for token_id in ids]
    assert " ".join(pieces) == "i n▁ the▁ cat▁ ,▁ and▁ (▁ d o▁ )▁ !▁"
    assert ours.tokenizer.decode(ids) == "in the cat, and (do)!"


def test_bpe_codes_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(CheckpointError, match="pip install 'sacremoses"):
        imported(write_bpe_package(tmp_path / "en_fr"))


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "another type": (
        lambda folder: change_json(folder / "metadata.json", type="sbd"),
        "a package of type 'sbd'; attend imports those of type 'translate'",
    ),
    "no pieces": (
        lambda folder: (folder / "sentencepiece.model").unlink(),
        "no sentencepiece.model and no bpe.model",
    ),
    "no code": (
        lambda folder: change_json(folder / "metadata.json", to_code=None),
        "to_code is not the code of a language",
    ),
    "an unknown prefix": (
        lambda folder: change_json(folder / "metadata.json", target_prefix="__pt__"),
        "'__pt__' is not in the vocabulary",
    ),
    "a damaged model": (
        lambda folder: (folder / "model" / "model.bin").write_bytes(b"x"), "ends within the header",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_packages_are_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    spoil, reason = BROKEN[name]
    folder = write_package(tmp_path / "en_fr")
    spoil(folder)
    with pytest.raises(CheckpointError, match=reason):
        imported(folder)


def write_zip(path: Path, members: Mapping[str, bytes], mode: int = 0o100644) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = mode << 16
            archive.writestr(info, content)
    return path


METADATA = json.dumps({"from_code": "en", "to_code": "fr"}).encode()


@pytest.mark.parametrize(
    "name",
    ["../evil", "/etc/evil", "en_fr/../../evil", "en_fr\\..\\evil", "en_fr/model/../evil"],
)
def test_members_outside_of_the_folder_are_refused(name: str, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "x.argosmodel", {"en_fr/metadata.json": METADATA, name: b"x"})
    with pytest.raises(CheckpointError, match="may leave its folder; not unpacked"):
        imported(path)
    assert not list(tmp_path.rglob("evil"))


def test_links_are_refused(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "x.argosmodel", {"en_fr/model": b"/etc"}, mode=0o120777)
    with pytest.raises(CheckpointError, match="may leave its folder"):
        imported(path)


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(argos_reader, "MAX_PACKAGE_BYTES", 1_000_000)
    path = write_zip(tmp_path / "x.argosmodel", {"en_fr/metadata.json": bytes(2_000_000)})
    assert path.stat().st_size < 10_000
    with pytest.raises(CheckpointError, match="unpacks to 2,000,000 bytes, more than 1,000,000"):
        imported(path)
    many = write_zip(tmp_path / "y.argosmodel", {f"{n}": b"" for n in range(10_001)})
    with pytest.raises(CheckpointError, match="has 10,001 files"):
        imported(many)


DAMAGED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "not a readable zip archive"),
    "text": (lambda _: b"<html>not found</html>", "not a readable zip archive"),
    "cut": (lambda data: data[: len(data) // 2], "not a readable zip archive"),
    "changed": (lambda data: data[:90] + b"xxxx" + data[94:], "not a readable zip|not JSON"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_archives_are_refused(name: str, tmp_path: Path) -> None:
    spoil, reason = DAMAGED[name]
    path = pack(write_package(tmp_path / "en_fr"), tmp_path / "x.argosmodel")
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(CheckpointError, match=reason) as caught:
        imported(path)
    assert "\n" not in str(caught.value)


def test_an_archive_without_metadata_is_refused(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "x.argosmodel", {"en_fr/README.md": b"x"})
    with pytest.raises(CheckpointError, match=r"expected one metadata.json .* found 0"):
        imported(path)
    with pytest.raises(CheckpointError, match="no such folder; expected a package"):
        imported(tmp_path / "nowhere.argosmodel")
