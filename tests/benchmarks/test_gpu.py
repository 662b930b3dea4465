import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import decode, gpu
from benchmarks.gpu import main, weights_of_a_token
from model.checkpoint.reader import load_checkpoint


def test_the_whole_measurement_on_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "SETTLE", 0)
    monkeypatch.setattr(gpu, "COPY_BYTES", 2**20)
    file = tmp_path / "gpu.json"
    arguments = "--device cpu --preset tiny --count 4 --rounds 1 --no-peers"
    result = CliRunner().invoke(
        main, [*arguments.split(), "--work", str(tmp_path), "--json", str(file)]
    )
    assert result.exit_code == 0, result.output
    assert "float32: 4 of 4 sentences as the reference on cpu" in result.output
    rows = json.loads(file.read_text("utf-8"))["rows"]
    assert [(row["Beam"], row["Batch"], row["System"]) for row in rows] == [
        (beam, batch, f"attend {precision}")
        for beam, batch in ((4, 64), (1, 1))
        for precision in ("bfloat16", "float16", "float32")
    ]
    assert all(row["Tokens/s"] > 0 for row in rows)
    assert [row.get("Bandwidth", 0) > 0 for row in rows] == [False] * 3 + [True] * 3


def test_the_time_budget_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "BUDGET", -1.0)
    monkeypatch.setattr(gpu, "COPY_BYTES", 2**20)
    arguments = "--device cpu --preset tiny --count 4 --rounds 1 --no-peers"
    result = CliRunner().invoke(main, [*arguments.split(), "--work", str(tmp_path)])
    assert "out of time" in result.output


def test_a_missing_device_is_refused() -> None:
    result = CliRunner().invoke(main, ["--device", "cuda:7"])
    assert result.exit_code != 0
    assert "device 'cuda:7'" in str(result.exception)


def test_the_weights_of_a_token(tiny_checkpoint: Path) -> None:
    loaded = load_checkpoint(tiny_checkpoint)
    shape = loaded.config.transformer
    layer = 6 * shape.d_model**2 + 2 * shape.d_model * shape.d_ff
    output = shape.target_vocab_size * shape.d_model
    assert weights_of_a_token(loaded) == shape.n_decoder_layers * layer + output
