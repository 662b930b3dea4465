"""Random multilingual models can be imported and end their sentences."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks import imported
from benchmarks.imported import Multilingual, write_multilingual
from benchmarks.natural import constant_direction, lengths
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from model.interop.marian_import import import_m2m100
from model.transformer.config import TransformerConfig
from model.transformer.transformer import Transformer

SIZES = [3 + 7 * n % 22 for n in range(160)]
SMALL = Multilingual(
    listed=True, n_pieces=700, unused=3, d_model=64, d_ff=96, n_heads=4, n_layers=2
)


def small(**update: object) -> TransformerConfig:
    values = {"d_model": 64, "d_ff": 96, "n_heads": 4, "n_encoder_layers": 2, "n_decoder_layers": 2}
    return TransformerConfig.model_validate(values | update)


@pytest.mark.parametrize("listed", [True, False])
def test_multilingual_models_end_near_the_source_length(tmp_path: Path, listed: bool) -> None:
    kind = replace(SMALL, listed=listed)
    pair = ("__en__", "__fr__") if listed else ("eng_Latn", "fra_Latn")
    sources = write_multilingual(tmp_path / "theirs", kind, SIZES, 80, pair)
    import_m2m100(tmp_path / "theirs", tmp_path / "ours")
    loaded = load_checkpoint(tmp_path / "ours")
    found = lengths(load_model(loaded), sources[80:], loaded.tokenizer.first_id("fr"))
    assert found.ended > 0.8
    assert 0.5 < found.ratio < 2.5  # the mean of ratios weighs short sentences more
    same_width = {"decoder_d_ff": None, "decoder_n_heads": None}
    assert loaded.config.transformer.model_copy(update=same_width) == kind.shape
    assert [len(ids) for ids in sources] == SIZES
    first, *_, end = sources[0]
    assert [first, end] == loaded.tokenizer.source_ids("", "fr", "en")


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


def test_a_folder_is_written_once(tmp_path: Path) -> None:
    folder = imported.written("x", SMALL, 60, 30, tmp_path)
    assert {one.name for one in folder.iterdir()} == {"theirs", "ours", "sources.json"}
    before = (folder / "sources.json").stat().st_mtime_ns
    assert imported.written("x", SMALL, 60, 30, tmp_path) == folder
    assert (folder / "sources.json").stat().st_mtime_ns == before
