from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from transformers import MarianMTModel

from model.checkpoint import Checkpoint, load_checkpoint
from model.decoding.beam import beam_search
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.interop.marian_import import import_marian
from model.tensors import padded_ids
from tests.model.interop.conftest import MakeFolder

FAMILY: dict[str, dict[str, Any]] = {
    "shared": {},
    "untied": {"tie_word_embeddings": False},
    "separate": {"separate": True},
    "separate and untied": {"separate": True, "tie_word_embeddings": False},
    "unscaled, without bias": {"scale_embedding": False, "bias": False},
    "relu": {"activation_function": "relu", "generation": {"renormalize_logits": True}},
    "gelu": {"activation_function": "gelu", "generation": {"early_stopping": True}},
    "silu, several targets": {"activation_function": "silu", "multi": True, "seed": 3},
    "half precision": {"dtype": torch.float16, "generation": {"forced_eos_token_id": None}},
    "pickled": {"pickled": True, "generation": {"early_stopping": "never", "length_penalty": 0.6}},
    "pickled in half precision": {"pickled": True, "dtype": torch.float16},
    "deep decoder": {"encoder_layers": 1, "decoder_layers": 3, "generation": {"max_length": 9}},
    "cut without an end": {"generation": {"max_length": 6, "forced_eos_token_id": None}},
}
N_SENTENCES = 200


@pytest.fixture(scope="module", params=FAMILY)
def pair(
    request: pytest.FixtureRequest,
    make_folder: MakeFolder,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[MarianMTModel, Checkpoint]:
    folder = make_folder(**FAMILY[request.param])
    destination = tmp_path_factory.mktemp("imported") / "ours"
    import_marian(folder, destination)
    theirs = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
    return theirs, load_checkpoint(destination)


def sentences(checkpoint: Checkpoint, seed: int = 3) -> list[list[int]]:
    choose = random.Random(seed)
    shape = checkpoint.config.transformer
    words = [i for i in range(shape.source_vocab_size) if i not in (shape.pad_id, shape.eos_id)]
    return [
        [*choose.choices(words, k=choose.randint(1, 12)), shape.eos_id] for _ in range(N_SENTENCES)
    ]


def padded(checkpoint: Checkpoint, rows: list[list[int]]) -> torch.Tensor:
    return padded_ids(rows, checkpoint.config.transformer.pad_id, torch.device("cpu"))


@torch.inference_mode()
def test_logits_equal_theirs(pair: tuple[MarianMTModel, Checkpoint]) -> None:
    theirs, ours = pair
    shape = ours.config.transformer
    source = padded(ours, sentences(ours)[:40])
    generator = torch.Generator().manual_seed(5)
    target = torch.randint(0, shape.target_vocab_size, (40, 9), generator=generator)
    target[:, 0] = shape.start_id
    wanted = theirs(
        input_ids=source, attention_mask=source != shape.pad_id, decoder_input_ids=target
    ).logits
    assert (ours.model(source, target) - wanted).abs().max() <= 1e-5


def found_by_us(ours: Checkpoint, source: torch.Tensor, beam_size: int) -> list[Hypothesis]:
    options = SearchOptions(
        beam_size=beam_size,
        length_penalty=ours.config.length_penalty,
        rule=ours.config.search_rule,
    )
    return [best for best, *_ in beam_search(ours.model, source, options)]


def tokens(row: list[int], eos_id: int, pad_id: int) -> list[int]:
    """What `transformers` generated, without the start and all that follows the text."""
    kept = row[1:]
    if eos_id in kept:
        kept = kept[: kept.index(eos_id)]
    return [token for token in kept if token != pad_id]


@torch.inference_mode()
def test_beam_search_gives_the_same_tokens_and_scores(
    pair: tuple[MarianMTModel, Checkpoint],
) -> None:
    theirs, ours = pair
    shape = ours.config.transformer
    source = padded(ours, sentences(ours))
    wanted = theirs.generate(
        source,
        attention_mask=source != shape.pad_id,
        output_scores=True,
        return_dict_in_generate=True,
    )
    found = found_by_us(ours, source, ours.config.beam_size)
    assert ours.config.beam_size == 4
    assert [list(one.ids) for one in found] == [
        tokens(row, shape.eos_id, shape.pad_id) for row in wanted.sequences.tolist()
    ]
    scores = torch.tensor([one.score for one in found])
    assert (scores - wanted.sequences_scores).abs().max() <= 1e-4
    assert len({one.ids for one in found}) > 10


@torch.inference_mode()
def test_greedy_search_gives_the_same_tokens_and_scores(
    pair: tuple[MarianMTModel, Checkpoint],
) -> None:
    theirs, ours = pair
    shape = ours.config.transformer
    rule = ours.config.search_rule
    assert rule is not None
    source = padded(ours, sentences(ours, seed=4))
    wanted = theirs.generate(
        source,
        attention_mask=source != shape.pad_id,
        num_beams=1,
        early_stopping=False,
        length_penalty=1.0,
        output_logits=True,
        return_dict_in_generate=True,
    )
    found = found_by_us(ours, source, 1)
    assert [list(one.ids) for one in found] == [
        tokens(row, shape.eos_id, shape.pad_id) for row in wanted.sequences.tolist()
    ]
    # Greedy search of theirs has no score; what it chose has its log-probabilities.
    logits = torch.stack(wanted.logits, dim=1)
    if rule.renormalise:
        logits[:, :, shape.pad_id] = -torch.inf
    log_probs = logits.log_softmax(dim=-1)
    for row, one in enumerate(found):
        end = [] if one.capped else [shape.eos_id]
        chosen = [*one.ids, *end]
        expected = log_probs[row, range(len(chosen)), chosen]
        assert (torch.tensor(one.log_probs) - expected).abs().max() <= 1e-4
    print(
        "CAPPED",
        sum(one.capped for one in found),
        len({one.ids for one in found}),
        max(len(one.ids) for one in found),
        sum(len(o.ids) for o in found) / 200,
    )
