import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from app.cli.inspect import architecture_table
from model.checkpoint.config import WEIGHTS_FILE
from model.checkpoint.parameters import describe
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from model.checkpoint.writer import save_checkpoint
from model.transformer.config import PRESETS
from tests.app.cli.conftest import Attend


def test_the_base_model_is_the_papers(attend: Attend) -> None:
    result = attend("inspect", "--preset", "base")
    assert result.exit_code == 0
    for name in (
        "Input Embedding", "Positional Encoding", "Encoder layer 1 … 6", "Multi-Head Attention",
        "W^Q", "Add & Norm", "Feed Forward", "Decoder layer 1 … 6", "Masked Multi-Head Attention",
        "Output Embedding", "Linear", "Softmax", "h = 8, d_k = 64",
    ):  # fmt: skip
        assert name in result.stdout
    assert "63,082,496 parameters (63.1 M; 65 M in the paper's table 3)" in result.stdout
    assert "…" not in result.stdout.replace("1 … 6", "")  # no column was cut


def test_the_big_model_is_the_papers(attend: Attend) -> None:
    result = attend("inspect", "--preset", "big", "--json")
    document = json.loads(result.stdout)
    assert document["n_parameters"] == 214_245_376
    assert document["n_parameters_in_paper"] == 213e6


def test_a_checkpoint_is_printed_with_its_directions(attend: Attend, tiny_checkpoint: Path) -> None:
    result = attend("inspect", tiny_checkpoint)
    assert result.exit_code == 0
    assert "name: tiny\ndirections: en → fr, fr → en\nsha256: " in result.stdout
    document = json.loads(attend("inspect", tiny_checkpoint, "--json").stdout)
    counted = sum(part["n_parameters"] * part["copies"] for part in document["parts"])
    assert counted == document["n_parameters"]
    assert document["sha256"] == load_checkpoint(tiny_checkpoint).digest
    assert document["config"]["d_model"] == 32


def test_a_damaged_checkpoint_fails(attend: Attend, tiny_checkpoint: Path, tmp_path: Path) -> None:
    loaded = load_checkpoint(tiny_checkpoint)
    folder = tmp_path / "damaged"
    weights = dict(load_model(loaded).named_parameters())
    save_checkpoint(folder, loaded.config, weights, loaded.tokenizer, "", {})
    content = (folder / WEIGHTS_FILE).read_bytes()
    (folder / WEIGHTS_FILE).write_bytes(content[:-1])
    result = attend("inspect", folder)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"attend: {folder / WEIGHTS_FILE}: ")


def test_the_shipped_checkpoint_is_the_default(attend: Attend) -> None:
    assert attend("inspect").stdout.startswith("name: en-fr\ndirections: en → fr, fr → en\n")


@pytest.mark.parametrize("preset", PRESETS)
def test_the_table_fits_a_terminal(preset: str) -> None:
    terminal = Console(width=80, file=io.StringIO())
    with terminal.capture() as capture:
        terminal.print(architecture_table(PRESETS[preset]))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80
    for part in describe(PRESETS[preset]):
        shapes = ", ".join("×".join(map(str, shape)) for shape in part.tensors.values())
        assert any(", ".join(part.tensors) in line and shapes in line for line in lines)
    assert "…" not in capture.get().replace(" … ", "")  # no column was cut


@pytest.mark.parametrize("arguments", [["--preset", "base", "folder"], ["--preset", "vast"]])
def test_either_a_folder_or_a_preset(attend: Attend, arguments: list[str]) -> None:
    assert attend("inspect", *arguments).exit_code == 2
