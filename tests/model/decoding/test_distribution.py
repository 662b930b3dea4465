import torch

from model.decoding.distribution import given_log_probs, next_log_probs
from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import HuggingFaceRule, MarianRule
from model.transformer.config import TransformerConfig

CONFIG = TransformerConfig(source_vocab_size=4, target_vocab_size=4, pad_id=3, eos_id=0, start_id=3)
LOGITS = torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log()
NOT_AT_LIMIT = torch.tensor([False])


def probabilities(
    options: SearchOptions, at_limit: torch.Tensor = NOT_AT_LIMIT, length: int = 2
) -> list[float]:
    ids = torch.ones(1, length - 1, dtype=torch.long)
    found = next_log_probs(LOGITS.clone(), CONFIG, options, at_limit, ids).exp()[0]
    return [round(p, 6) for p in found.tolist()]


def test_padding_is_never_next() -> None:
    assert probabilities(SearchOptions()) == [0.1, 0.2, 0.3, 0.0]
    assert probabilities(SearchOptions(rule=HuggingFaceRule())) == [0.1, 0.2, 0.3, 0.0]


def test_renormalising_shares_out_what_padding_had() -> None:
    options = SearchOptions(rule=HuggingFaceRule(renormalise=True))
    assert probabilities(options) == [0.166667, 0.333333, 0.5, 0.0]


def test_the_end_is_forced_at_the_limit_alone() -> None:
    options = SearchOptions(rule=HuggingFaceRule(force_end=True))
    assert probabilities(options) == [0.1, 0.2, 0.3, 0.0]
    assert probabilities(options, torch.tensor([True])) == [1.0, 0.0, 0.0, 0.0]
    assert probabilities(SearchOptions(), torch.tensor([True])) == [0.1, 0.2, 0.3, 0.0]


def test_a_given_first_token_is_certain_at_the_start_alone() -> None:
    options = SearchOptions(first_id=2)
    assert probabilities(options, length=1) == [0.0, 0.0, 1.0, 0.0]
    assert probabilities(options, length=2) == [0.1, 0.2, 0.3, 0.0]
    assert probabilities(SearchOptions(), length=1) == [0.1, 0.2, 0.3, 0.0]


def test_marians_unknown_token_keeps_its_probability_and_is_not_chosen() -> None:
    options = SearchOptions(rule=MarianRule(unk_id=1))
    assert probabilities(options) == [0.1, 0.0, 0.3, 0.0]
    given = given_log_probs(LOGITS.clone(), CONFIG, options).exp()[0].tolist()
    assert [round(p, 6) for p in given] == [0.1, 0.2, 0.3, 0.0]
