"""LibreTranslate with the weights of a checkpoint, as a peer of `benchmarks.serve`.

LibreTranslate serves Argos packages: folders with a CTranslate2 model, a SentencePiece model and
metadata. The model is the one of the other comparisons. Its source begins with a target-language
symbol and ends with </s>, which Argos Translate does not write; in the package, CTranslate2 does,
since its configuration may name a first and a last token of every source.
"""

import json
from pathlib import Path

from benchmarks.checkpoints import ctranslate2_folder, made
from benchmarks.peers import BEYOND_SOURCE
from benchmarks.server import Server
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.text.tokenizer import TOKENIZER_FILE

WORKER = Path(__file__).with_name("libretranslate_worker.py")
CONTROL_TOKENS = 2
"""The target-language symbol and </s>, which CTranslate2 adds to a source."""


def libretranslate_servers(
    python: str, checkpoint: Path, work: Path, threads: int, beam: int
) -> list[Server]:
    """Return LibreTranslate with both distributions of its threads; `python` is one that has it."""
    loaded = load_checkpoint(checkpoint)
    packages = argos_packages(loaded, work)
    source, target = loaded.config.directions[0]
    beyond_source = BEYOND_SOURCE + CONTROL_TOKENS
    command = [
        python, str(WORKER), source, target, str(loaded.config.length_penalty),
        str(beyond_source), "--disable-web-ui", "--disable-files-translation",
        "--port",
    ]  # fmt: skip
    return [
        Server(
            "LibreTranslate int8",
            f"{inter} × {intra}",
            command,
            environment={
                "ARGOS_PACKAGES_DIR": str(packages),
                "ARGOS_COMPUTE_TYPE": "int8",
                "ARGOS_BEAM_SIZE": str(beam),
                "ARGOS_INTER_THREADS": str(inter),
                "ARGOS_INTRA_THREADS": str(intra),
            },
            ready="/health",
            text_field="q",
        )
        for inter, intra in sorted({(1, threads), (threads, 1)})
    ]


def argos_packages(checkpoint: Checkpoint, work: Path) -> Path:
    """Write an Argos package for each direction of the checkpoint → the folder that has them.

    With fewer than two, LibreTranslate asks the network for more.
    """
    converted = ctranslate2_folder(checkpoint, work)

    def write(folder: Path) -> None:
        for source, target in checkpoint.config.directions:
            _write_package(folder / f"{source}_{target}", checkpoint, converted, source, target)

    return made(work / f"argos-{checkpoint.digest[:16]}", write)


def _write_package(
    folder: Path, checkpoint: Checkpoint, converted: Path, source: str, target: str
) -> None:
    model = folder / "model"
    model.mkdir(parents=True)
    for file in converted.iterdir():
        (model / file.name).symlink_to(file.resolve())
    config = json.loads((converted / "config.json").read_text("utf-8"))
    symbol = checkpoint.tokenizer.piece(checkpoint.tokenizer.source_ids("", target, source)[0])
    config |= {"bos_token": symbol, "add_source_bos": True, "add_source_eos": True}
    (model / "config.json").unlink()
    (model / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "sentencepiece.model").symlink_to((checkpoint.folder / TOKENIZER_FILE).resolve())
    metadata = {
        "package_version": "1.0", "argos_version": "1.9",
        "from_code": source, "from_name": source, "to_code": target, "to_name": target,
    }  # fmt: skip
    (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
