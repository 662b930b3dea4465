from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from model.text.tokenizer import Tokenizer
from model.training.validation import (
    HeldOut,
    _greedy,
    greedy_bleu,
    held_out_loss,
    share_right,
    teacher_forced,
)
from model.transformer.config import PRESETS, TransformerConfig, vocabulary_fields
from model.transformer.transformer import Transformer
from tests.model.training.toy import toy_pairs


@pytest.fixture
def model(tokenizer: Tokenizer) -> Transformer:
    torch.manual_seed(0)
    ids = vocabulary_fields(tokenizer.vocab_size, tokenizer.pad_id, tokenizer.eos_id)
    values = PRESETS["tiny"].model_dump() | ids | {"max_length": 20}
    return Transformer(TransformerConfig.model_validate(values)).eval()


def held_out(pairs: list[tuple[str, str]]) -> HeldOut:
    return HeldOut("dev", "yy", [a for a, _ in pairs], [b for _, b in pairs])


def test_loss_is_the_mean_over_all_target_tokens(model: Transformer, tokenizer: Tokenizer) -> None:
    pairs = toy_pairs(120)
    total, count = 0.0, 0
    for source, target in pairs:
        source_ids = torch.tensor([[3, *tokenizer.encode_batch([source])[0], 0]])
        labels = torch.tensor([*tokenizer.encode_batch([target])[0], 0])
        shifted = torch.cat((torch.tensor([tokenizer.pad_id]), labels[:-1]))[None]
        with torch.no_grad():
            logits = model(source_ids, shifted)[0]
        total += functional.cross_entropy(logits, labels, reduction="sum").item()
        count += len(labels)
    assert held_out_loss(model, tokenizer, held_out(pairs)) == pytest.approx(
        total / count, rel=1e-5
    )


def test_pairs_longer_than_the_model_are_cut(model: Transformer, tokenizer: Tokenizer) -> None:
    long = held_out([("abcdefgh " * 9, "stuvwxyz " * 9)])
    assert 0 < held_out_loss(model, tokenizer, long) < 100
    assert 0 <= greedy_bleu(model, tokenizer, long, 5) <= 100


def test_bleu_of_its_own_output_is_100(model: Transformer, tokenizer: Tokenizer) -> None:
    translations = []

    def remember(ids: list[int]) -> str:
        translations.append(text := Tokenizer.decode(tokenizer, ids))
        return text

    pairs = toy_pairs(60)
    spy = Tokenizer(tokenizer.serialized)
    spy.decode = remember  # type: ignore[method-assign,assignment]
    greedy_bleu(model, spy, held_out(pairs), 55)
    assert len(translations) == 55
    own = HeldOut("dev", "yy", [source for source, _ in pairs[:55]], translations)
    assert greedy_bleu(model, tokenizer, own, 55) == pytest.approx(100)
    assert greedy_bleu(model, tokenizer, held_out(pairs), 55) < 50


def test_the_share_that_is_right(model: Transformer, tokenizer: Tokenizer) -> None:
    sources = [source for source, _ in toy_pairs(8)]
    blank = HeldOut("dev", "yy", sources, [""] * len(sources), is_exact=True)
    own = _greedy(model, tokenizer, blank, len(sources))
    half = [*own[:4], *(f"{text} x" for text in own[4:])]
    assert share_right(model, tokenizer, replace(blank, references=own)) == 1
    assert share_right(model, tokenizer, replace(blank, references=half)) == 0.5


def test_teacher_forcing_skips_padding(model: Transformer, tokenizer: Tokenizer) -> None:
    pad = tokenizer.pad_id
    source = torch.tensor([[3, 9, 8, 0], [3, 9, 0, pad]])
    target = torch.tensor([[5, 6, 7, 0], [5, 0, pad, pad]])
    hidden, labels = teacher_forced(model, source, target)
    assert labels.tolist() == [5, 6, 7, 0, 5, 0]
    assert hidden.shape == (6, 32)
    alone, _ = teacher_forced(model, source[1:, :3], target[1:, :2])
    torch.testing.assert_close(hidden[4:], alone)
