"""The hub, of which there is none here: what it is asked for, and what its answers become."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import httpx2
import huggingface_hub
import pytest
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)

from model.errors import CheckpointError
from model.interop.hub import fetch, is_hub_name

NAME = "Helsinki-NLP/opus-mt-en-fr"


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (NAME, True), ("a/b.c_d-1", True), ("opus-mt", False), ("./a/b", False), ("/a/b", False),
        ("a/b/c", False), ("../a", False), ("a/b/", False), ("a b/c", False), ("", False),
    ],
)  # fmt: skip
def test_what_looks_like_a_name(source: str, named: bool) -> None:
    assert is_hub_name(source) == named


def test_a_path_that_is_there_is_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert not is_hub_name("a/b")
    assert is_hub_name("a/c")


class Hub:
    """Stands in for `snapshot_download`: checks the arguments by its signature, makes the files."""

    def __init__(self, folder: Path, *there: str) -> None:
        self.folder, self.there = folder, there
        self.asked: list[list[str]] = []
        self._signature = inspect.signature(huggingface_hub.snapshot_download)

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        asked = self._signature.bind(*args, **kwargs).arguments
        assert asked.pop("repo_id") == NAME
        self.asked.append(asked.pop("allow_patterns"))
        assert not asked
        for name in self.there:
            if name in self.asked[-1]:
                (self.folder / name).touch()
        return str(self.folder)


def test_only_the_files_that_are_needed_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub(tmp_path, "config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub)
    assert fetch(NAME) == tmp_path
    assert {path.name for path in tmp_path.iterdir()} == {"config.json", "model.safetensors"}
    [asked] = hub.asked
    assert set(asked) == {
        "config.json", "generation_config.json", "tokenizer_config.json", "source.spm",
        "target.spm", "vocab.json", "target_vocab.json", "attend/*", "model.safetensors",
        "model.safetensors.index.json", "model-*-of-*.safetensors", "sentencepiece.bpe.model",
        "added_tokens.json", "special_tokens_map.json", "tokenizer.json",
    }  # fmt: skip


def test_without_safetensors_the_older_weights_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub(tmp_path, "config.json", "pytorch_model.bin")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub)
    fetch(NAME)
    assert (tmp_path / "pytorch_model.bin").exists()
    assert "model.safetensors" not in hub.asked[-1]


def answered(kind: type[HfHubHTTPError], status: int) -> HfHubHTTPError:
    response = httpx2.Response(status, request=httpx2.Request("GET", "https://hub/"))
    return kind("several\nlines", response=response)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (answered(RepositoryNotFoundError, 404), "no such model on the hub, or a private one"),
        (answered(GatedRepoError, 403), "access must be requested on its page; then log in"),
        (answered(HfHubHTTPError, 503), "the hub responded with 503"),
        (LocalEntryNotFoundError("no\nway"), "the hub cannot be reached"),
        (httpx2.ProxyError("bad\nproxy"), "cannot be fetched from the hub: ProxyError: bad"),
        (HFValidationError("a..b"), "HFValidationError: a..b"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (RuntimeError(), "RuntimeError: "),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_failure_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    def fail(*_: Any, **__: Any) -> str:
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(CheckpointError) as caught:
        fetch(NAME)
    assert str(caught.value).startswith(f"{NAME}: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(CheckpointError, match="pip install huggingface_hub"):
        fetch(NAME)


def test_offline_the_real_library_is_one_line_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(CheckpointError, match="the hub cannot be reached"):
        fetch("nobody/no-such-model")
