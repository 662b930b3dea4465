"""Compares an imported model with the original in `transformers`."""

from typing import Any

import torch

from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint
from model.decoding.beam import beam_search
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.decoding.padding import padded_ids


def padded(ours: Checkpoint, rows: list[list[int]]) -> torch.Tensor:
    return padded_ids(rows, ours.config.transformer.pad_id, torch.device("cpu"))


@torch.inference_mode()
def check_logits(theirs: Any, ours: Checkpoint, rows: list[list[int]], first_word: int) -> None:
    """Check that logits are equal for random targets, whose ids start at `first_word`."""
    shape = ours.config.transformer
    source = padded(ours, rows)
    n_rows, n_ids = len(rows), shape.target_vocab_size
    generator = torch.Generator().manual_seed(5)
    target = torch.randint(first_word, n_ids, (n_rows, 9), generator=generator)
    target[:, 0] = shape.start_id
    mask = source != shape.pad_id
    expected = theirs(input_ids=source, attention_mask=mask, decoder_input_ids=target).logits
    assert (load_model(ours)(source, target) - expected).abs().max() <= 1e-5


@torch.inference_mode()
def generated(theirs: Any, ours: Checkpoint, source: torch.Tensor, **options: Any) -> Any:
    return theirs.generate(
        source,
        attention_mask=source != ours.config.transformer.pad_id,
        output_scores=True,
        return_dict_in_generate=True,
        **options,
    )


def search_options(ours: Checkpoint, **changes: Any) -> SearchOptions:
    config = ours.config
    named: dict[str, Any] = {
        "beam_size": config.beam_size,
        "length_penalty": config.length_penalty,
        "processors": config.logits_processors,
    }
    return SearchOptions(**({**named, "rule": config.search_rule} | changes))


@torch.inference_mode()
def found_by_us(ours: Checkpoint, source: torch.Tensor, **changes: Any) -> list[Hypothesis]:
    """Return all hypotheses of the checkpoint's search, with `changes`."""
    found = beam_search(load_model(ours), source, search_options(ours, **changes))
    return [one for best in found for one in best]


def check_tokens(found: list[Hypothesis], expected: Any, ours: Checkpoint) -> None:
    shape = ours.config.transformer
    for one, row in zip(found, expected.sequences.tolist(), strict=True):
        kept = row[1:]  # without the start, the end and padding
        kept = kept[: kept.index(shape.eos_id) if shape.eos_id in kept else None]
        assert list(one.ids) == [token for token in kept if token != shape.pad_id]


def check_scores(found: list[Hypothesis], expected: Any) -> None:
    scores = torch.tensor([one.score for one in found])
    assert (scores - expected.sequences_scores).abs().max() <= 1e-4
