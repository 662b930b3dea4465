"""LibreTranslate packages and worker, without LibreTranslate."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sentencepiece

from benchmarks import libretranslate_server
from benchmarks.libretranslate_server import WORKER, argos_packages, libretranslate_servers
from model.checkpoint.reader import Checkpoint, load_checkpoint

FAKES = {
    "ctranslate2.py": """
class Translator:
    def translate_batch(self, sources, **options):
        return {"sources": sources, **options}
""",
    "argostranslate/__init__.py": "",
    "argostranslate/translate.py": """
import ctranslate2
class MiniSBDSentencizer:
    pass
loaded = []
def translate(text, source, target):
    pieces = MiniSBDSentencizer(None).split_sentences(text)
    found = ctranslate2.Translator().translate_batch([pieces], length_penalty=0.2, beam_size=4)
    loaded.append([source, target, found])
""",
    "libretranslate/__init__.py": "",
    "libretranslate/main.py": """
import json, sys
def main():
    from argostranslate import translate
    print(json.dumps({"arguments": sys.argv[1:], "loaded": translate.loaded}))
""",
}


@pytest.fixture
def converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replaces CTranslate2's conversion."""
    folder = tmp_path / "ctranslate2"
    folder.mkdir()
    (folder / "model.bin").write_bytes(b"weights")
    (folder / "config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))

    def folder_of(checkpoint: Checkpoint, work: Path) -> Path:
        return folder

    monkeypatch.setattr(libretranslate_server, "ctranslate2_folder", folder_of)
    return folder


def test_a_package_of_argos_translate(
    tiny_checkpoint: Path, tmp_path: Path, converted: Path
) -> None:
    loaded = load_checkpoint(tiny_checkpoint)
    packages = argos_packages(loaded, tmp_path / "work")
    assert {one.name for one in packages.iterdir()} == {"en_fr", "fr_en"}
    package = packages / "fr_en"
    metadata = json.loads((package / "metadata.json").read_text())
    assert (metadata["from_code"], metadata["to_code"]) == ("fr", "en")
    assert (package / "model" / "model.bin").read_bytes() == b"weights"
    config = json.loads((package / "model" / "config.json").read_text())
    assert config["eos_token"] == "</s>"
    assert json.loads((converted / "config.json").read_text())["bos_token"] == "<s>"  # untouched

    # This configuration gives CTranslate2 the same source tokens as attend.
    processor = sentencepiece.SentencePieceProcessor(
        model_file=str(package / "sentencepiece.model")
    )
    assert config["add_source_bos"]
    assert config["add_source_eos"]
    pieces = [config["bos_token"], *processor.encode("le chien", out_type=str), config["eos_token"]]
    ids = loaded.tokenizer.source_ids("le chien", "en", "fr")
    assert pieces == [loaded.tokenizer.piece(index) for index in ids]


def test_the_worker_loads_the_model_and_searches_as_the_other_servers(
    tiny_checkpoint: Path, tmp_path: Path, converted: Path
) -> None:
    for name, content in FAKES.items():
        path = tmp_path / "fakes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    servers = libretranslate_servers(sys.executable, tiny_checkpoint, tmp_path / "work", 2, 3)
    assert [server.threads for server in servers] == ["1 × 2", "2 × 1"]
    [server, _] = servers
    assert server.environment["ARGOS_BEAM_SIZE"] == "3"
    assert server.command[1] == str(WORKER)
    environment = os.environ | server.environment | {"PYTHONPATH": str(tmp_path / "fakes")}
    done = subprocess.run(
        [*server.command, "5000"], env=environment, capture_output=True, text=True, check=True
    )
    report = json.loads(done.stdout)
    assert report["arguments"][-2:] == ["--port", "5000"]
    [[source, target, search]] = report["loaded"]
    assert (source, target) == ("en", "fr")
    config = load_checkpoint(tiny_checkpoint).config
    assert search == {
        "sources": [["a"]],  # one sentence
        "length_penalty": config.length_penalty,
        "beam_size": 4,
        "max_decoding_length": 1 + 2 + 50,  # with its symbol and </s>, and 50 beyond
    }
