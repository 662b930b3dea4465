"""Random models in other projects' formats: they can be imported, and end their sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from benchmarks import imported
from benchmarks.foreign import Multilingual, write_marian, write_multilingual
from benchmarks.natural import constant_direction
from model.checkpoint.reader import load_checkpoint
from model.interop.languages_said import Languages
from model.interop.marian_import import import_m2m100, import_marian
from model.transformer.config import PRESETS, TransformerConfig
from model.transformer.transformer import Transformer

SIZES = [3 + 7 * n % 22 for n in range(160)]


def small(**update: object) -> TransformerConfig:
    values = {
        "d_model": 64,
        "d_ff": 96,
        "n_heads": 4,
        "n_encoder_layers": 2,
        "n_decoder_layers": 2,
    }
    return TransformerConfig.model_validate(values | update)


@pytest.mark.parametrize("listed", [True, False])
def test_a_model_of_many_languages_is_imported_and_ends_near_the_length_of_its_source(
    tmp_path: Path, listed: bool
) -> None:
    kind = Multilingual(listed, n_pieces=700, unused=3, d_model=64, d_ff=96, n_heads=4, n_layers=2)
    pair = ("__en__", "__fr__") if listed else ("eng_Latn", "fra_Latn")
    made = write_multilingual(tmp_path / "theirs", kind, SIZES, 80, pair)
    assert made.seen.ended > 0.8
    assert 0.5 < made.seen.ratio < 2.5  # of short sentences more than of all
    import_m2m100(made.folder, tmp_path / "ours")
    loaded = load_checkpoint(tmp_path / "ours")
    same_width = {"decoder_d_ff": None, "decoder_n_heads": None}
    assert loaded.config.transformer.model_copy(update=same_width) == kind.shape
    assert [len(ids) for ids in made.sources] == SIZES
    first, *_, end = made.sources[0]
    assert [first, end] == loaded.tokenizer.source_ids("", "fr", "en")


def test_a_model_in_marians_format_is_imported_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PRESETS, "tiny", small())
    made = write_marian(tmp_path / "theirs", "tiny", 600, SIZES, 80)
    assert made.seen.ended > 0.8
    assert 0.5 < made.seen.ratio < 2.5  # of short sentences more than of all
    import_marian(made.folder, tmp_path / "ours", "x", Languages(("en",), ("fr",)))
    loaded = load_checkpoint(tmp_path / "ours")
    shape = loaded.config.transformer
    assert (shape.target_vocab_size, shape.pad_id, shape.position_layout) == (601, 600, "marian")
    assert {end for *_, end in made.sources} == {loaded.tokenizer.eos_id}


def test_a_final_norm_gives_every_state_the_same_product() -> None:
    torch.manual_seed(0)
    model = Transformer(small(norm_order="pre")).eval()
    with torch.no_grad():
        norm = model.decoder.norm
        assert isinstance(norm, nn.LayerNorm)
        norm.weight.uniform_(0.5, 2)
        norm.bias.uniform_(0, 1)
        memory = model.encode(torch.tensor([[5, 6, 7]]))
        states = model.decode(memory, torch.tensor([[1, 9, 4, 30, 2]]))
        product = states @ constant_direction(model)
    assert torch.allclose(product, torch.ones(1, 5), atol=1e-4)


@pytest.mark.parametrize("norm_order", ["post", "pre"])
def test_without_a_bias_or_a_shift_no_row_can_be_fitted(norm_order: str) -> None:
    with pytest.raises(ValueError, match="no bias, and no final LayerNorm with a shift"):
        constant_direction(Transformer(small(norm_order=norm_order)))


def test_a_folder_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRESETS, "tiny", small())
    options: dict[str, Any] = {
        "preset": "tiny",
        "vocabulary": 600,
        "n": 60,
        "fitted": 30,
        "work": tmp_path,
    }
    folder = imported.written("marian", **options)
    assert {one.name for one in folder.iterdir()} == {"theirs", "ours", "sources.json"}
    before = (folder / "sources.json").stat().st_mtime_ns
    assert imported.written("marian", **options) == folder
    assert (folder / "sources.json").stat().st_mtime_ns == before
