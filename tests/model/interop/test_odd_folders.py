"""Odd files of every format: an import reads them or refuses them in one line with their name."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from model.errors import CheckpointError
from model.interop.languages import Languages
from model.interop.marian_import import (
    import_argos,
    import_ctranslate2,
    import_firefox,
    import_m2m100,
    import_marian,
)
from tests.argos_package import write_package
from tests.ctranslate2_folder import FAMILIES, write_folder
from tests.firefox_model import word_vocabulary, write_model
from tests.marian_folder import MakeFolder

IMPORTS: dict[str, Callable[..., object]] = {
    "marian": import_marian, "m2m100": import_m2m100, "firefox": import_firefox,
    "ctranslate2": import_ctranslate2, "argos": import_argos,
}  # fmt: skip
BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def originals(
    make_folder: MakeFolder,
    make_multilingual: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    parent = tmp_path_factory.mktemp("odd")
    return {
        "marian": make_folder(),
        "m2m100": make_multilingual(),
        "firefox": write_model(parent / "enfr", "test", (word_vocabulary(60),), (60, 60)).parent,
        "ctranslate2": write_folder(parent / "ct2-en-fr", FAMILIES["opennmt-py"]),
        "argos": write_package(parent / "en_fr"),
    }


def imported(verb: str, folder: Path, destination: Path) -> str:
    """Return the error message, if any."""
    languages = Languages(["en"], ["fr"]) if verb != "m2m100" else Languages([], [])
    try:
        IMPORTS[verb](folder, destination, None, languages)
    except CheckpointError as error:
        return str(error)
    return ""


def twice(data: bytes) -> bytes:
    """Duplicate a token: the first of a list, or the last of an object."""
    tokens = json.loads(data)
    if isinstance(tokens, list):
        return json.dumps([tokens[0], *tokens]).encode()
    first, second = list(tokens)[-2:]
    return data.replace(json.dumps(second).encode(), json.dumps(first).encode())


def without_end(data: bytes) -> bytes:
    return data.replace(b'"</s>"', b'"<end>"')


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "a list": lambda _: b"[]",
    "null": lambda _: b"null",
    "a number": lambda _: b"7",
    "marked": lambda data: BOM + data,
    "deep": lambda _: b"[" * 100_000,
    "cut": lambda data: data[: len(data) // 2],
    "twice": twice,
    "without an end": without_end,
    "one less": lambda data: json.dumps(json.loads(data)[:-1]).encode(),
    "one more": lambda data: json.dumps([*json.loads(data), "▁new"]).encode(),
    "numbers": lambda data: json.dumps(list(range(len(json.loads(data))))).encode(),
}
OBJECT = ("empty", "a list", "null", "a number", "deep", "cut")
CASES = [
    *(("marian", file, change) for file in ("config.json", "vocab.json") for change in OBJECT),
    *(("m2m100", "config.json", change) for change in OBJECT),
    *(("ctranslate2", "config.json", change) for change in OBJECT),
    *(("argos", "metadata.json", change) for change in OBJECT),
    *(("ctranslate2", "shared_vocabulary.json", change)
      for change in (*OBJECT, "twice", "without an end", "one less", "one more", "numbers")),
    *(("firefox", "vocab.enfr.spm", change) for change in ("empty", "a list", "marked", "cut")),
    *(("marian", "source.spm", change) for change in ("empty", "a list", "marked", "cut")),
    *(("argos", "sentencepiece.model", change) for change in ("empty", "a list", "marked", "cut")),
    ("marian", "vocab.json", "without an end"), ("marian", "vocab.json", "twice"),
    *((verb, "model.safetensors", change)
      for verb in ("marian", "m2m100") for change in ("empty", "a list", "marked", "cut")),
]  # fmt: skip


JSON_FILES = sorted({(verb, file) for verb, file, _ in CASES if file.endswith(".json")})


@pytest.mark.parametrize(("verb", "file", "change"), CASES)
def test_odd_files_are_refused_by_name(
    verb: str, file: str, change: str, originals: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / originals[verb].name
    shutil.copytree(originals[verb], folder)
    path = folder / file
    path.write_bytes(CHANGES[change](path.read_bytes()))
    message = imported(verb, folder, tmp_path / "ours")
    assert str(folder) in message
    assert file in message or "vocabulary" in message
    assert "\n" not in message
    assert len(message) < len(str(folder)) + 300
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize(("verb", "file"), JSON_FILES)
def test_json_with_a_byte_order_mark_is_read(
    verb: str, file: str, originals: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / originals[verb].name
    shutil.copytree(originals[verb], folder)
    (folder / file).write_bytes(BOM + (folder / file).read_bytes())
    assert imported(verb, folder, tmp_path / "ours") == ""


@pytest.mark.parametrize("verb", IMPORTS)
def test_links_to_files_elsewhere_are_read(
    verb: str, originals: dict[str, Path], tmp_path: Path
) -> None:
    """As in the cache of `huggingface_hub`, whose files are links to blobs."""
    folder = tmp_path / originals[verb].name
    for path in originals[verb].rglob("*"):
        if path.is_file():
            link = folder / path.relative_to(originals[verb])
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    assert imported(verb, folder, tmp_path / "ours") == ""
    assert not any(path.is_symlink() for path in (tmp_path / "ours").rglob("*"))


@pytest.mark.parametrize("verb", ["marian", "ctranslate2"])
def test_links_to_nothing_and_to_themselves_are_named(
    verb: str, originals: dict[str, Path], tmp_path: Path
) -> None:
    file = {"marian": "vocab.json", "ctranslate2": "model.bin"}[verb]
    for number, target in enumerate(("nowhere", file, "/")):
        folder = tmp_path / str(number) / originals[verb].name
        shutil.copytree(originals[verb], folder)
        (folder / file).unlink()
        (folder / file).symlink_to(target)
        message = imported(verb, folder, tmp_path / "ours")
        assert file in message
        assert "\n" not in message


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 298000000\n"


@pytest.mark.parametrize(
    ("verb", "file"),
    [
        ("marian", "source.spm"), ("marian", "model.safetensors"), ("marian", "pytorch_model.bin"),
        ("ctranslate2", "model.bin"), ("firefox", "model.enfr.intgemm.alphas.bin"),
        ("firefox", "model.enfr.intgemm.alphas.bin.gz"),
    ],
)  # fmt: skip
def test_pointers_of_git_lfs_are_named(
    verb: str, file: str, originals: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / originals[verb].name
    shutil.copytree(originals[verb], folder)
    if not (folder / file).exists():  # it is instead of the usual one
        next(f for f in folder.glob("model.*") if f.suffix in (".safetensors", ".bin")).unlink()
    (folder / file).write_bytes(POINTER)
    message = imported(verb, folder, tmp_path / "ours")
    assert message.startswith(f"{folder / file}: only a pointer of Git LFS to the file; `git lfs")


def test_a_model_cut_anywhere_is_refused(originals: dict[str, Path], tmp_path: Path) -> None:
    """At the ends of sections and within them: header, names, shapes, values, aliases."""
    for verb, pattern in (("ctranslate2", "model.bin"), ("firefox", "model.enfr.*.bin")):
        folder = tmp_path / originals[verb].name
        shutil.copytree(originals[verb], folder)
        path = next(folder.glob(pattern))
        data = path.read_bytes()
        for n_bytes in {*range(1, 120, 7), *range(120, len(data), len(data) // 40), len(data) - 1}:
            path.write_bytes(data[:n_bytes])
            message = imported(verb, folder, tmp_path / "ours")
            assert path.name in message, n_bytes
            assert "\n" not in message


def test_vocabularies_of_lines_with_crlf_are_read_and_marked_ones_named(
    originals: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / originals["ctranslate2"].name
    shutil.copytree(originals["ctranslate2"], folder)
    tokens = json.loads((folder / "shared_vocabulary.json").read_text("utf-8"))
    (folder / "shared_vocabulary.json").unlink()
    path = folder / "shared_vocabulary.txt"
    path.write_bytes("\r\n".join([*tokens, ""]).encode())
    assert imported("ctranslate2", folder, tmp_path / "ours") == ""
    path.write_bytes(BOM + "\n".join(tokens).encode())
    message = imported("ctranslate2", folder, tmp_path / "others")
    assert "the source vocabulary has 92 tokens, the model 91" in message
