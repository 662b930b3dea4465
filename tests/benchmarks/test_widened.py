"""A widened model computes what the smaller one does."""

from pathlib import Path

import pytest
import torch

from benchmarks.decode import describe_lengths
from benchmarks.widened import main_layers, widened
from model.checkpoint.config import CheckpointConfig
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.checkpoint.writer import save_checkpoint
from model.training.random_checkpoint import write_random_checkpoint
from model.transformer.config import PRESETS, TransformerConfig, vocabulary_fields
from model.transformer.transformer import Transformer

SMALL = TransformerConfig(
    d_model=32, d_ff=48, n_heads=2, n_encoder_layers=3, n_decoder_layers=1, norm_order="pre"
)
LARGE = TransformerConfig(d_model=64, d_ff=80, n_heads=4, n_encoder_layers=3, n_decoder_layers=2)


def checkpoint(folder: Path, shape: TransformerConfig) -> Checkpoint:
    write_random_checkpoint(folder / "vocabulary", "tiny", ("en", "fr"), vocab_size=520)
    tokenizer = load_checkpoint(folder / "vocabulary").tokenizer
    fields = vocabulary_fields(520, tokenizer.pad_id, tokenizer.eos_id)
    config = TransformerConfig.parse(shape.model_dump() | fields, "test")
    torch.manual_seed(1)
    weights = dict(Transformer(config).named_parameters())
    for name, weight in weights.items():
        # As in trained models, the outputs of layers are much larger than positions.
        weight.data *= 30 if name.endswith(("w_o.weight", "w_2.weight", "embedding.weight")) else 1
    about = CheckpointConfig(name="small", directions=[("en", "fr")], transformer=config)
    save_checkpoint(folder / "small", about, weights, tokenizer, "", {})
    return load_checkpoint(folder / "small")


@torch.inference_mode()
def test_a_wider_and_deeper_model_has_the_same_logits(tmp_path: Path) -> None:
    origin = checkpoint(tmp_path, SMALL)
    config, tokenizer, weights = widened(origin, LARGE, 600)
    model = Transformer(config).eval()
    model.load_state_dict(weights, strict=False)  # tied weights have one name
    assert (config.d_model, config.n_decoder_layers, tokenizer.vocab_size) == (64, 2, 600)
    text = "a sentence of some pieces"
    source = origin.tokenizer.source_ids(text, "fr")
    assert tokenizer.source_ids(text, "fr") == source
    ids, fed = torch.tensor([source]), torch.tensor([[5, 6, 7, 8]])
    expected = load_model(origin).eval()(ids, fed).log_softmax(-1)[..., :519]
    found = model(ids, fed).log_softmax(-1)[..., :519]
    assert torch.corrcoef(torch.stack([expected.flatten(), found.flatten()]))[0, 1] > 0.99
    assert torch.equal(expected.argmax(-1), found.argmax(-1))


def test_layers_that_add_least_are_left_out() -> None:
    weights = {
        f"encoder.layers.{n}.feed_forward.w_2.weight": torch.full((2, 2), size).numpy()
        for n, size in enumerate((3.0, 0.1, 2.0, 1.0))
    }
    assert main_layers(weights, 2) == [0, 2]


def test_models_that_cannot_be_widened_are_refused(tmp_path: Path) -> None:
    post = checkpoint(tmp_path, SMALL.model_copy(update={"norm_order": "post"}))
    with pytest.raises(ValueError, match="only models as attend trains them"):
        widened(post, LARGE, 600)
    origin = checkpoint(tmp_path, SMALL)
    for shape, vocab_size in ((PRESETS["tiny"], 600), (LARGE, 500)):
        with pytest.raises(ValueError, match="does not fit"):
            widened(origin, shape, vocab_size)


def test_distances_of_lengths() -> None:
    sources = [(1,) * (n + 2) for n in (3, 4, 5)]
    assert describe_lengths(sources, [(1,) * 3, (1,) * 6, (1,) * 6]) == "1.0 (1, 1)"
