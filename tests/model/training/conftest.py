import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from model.text.tokenizer import Tokenizer
from model.training.data.vocabulary import train_tokenizer
from tests.model.training.toy import VOCABULARY, Workshop, toy_pairs, write_pairs


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    write_pairs(tmp_path / "train.tsv", toy_pairs(600))
    return Workshop(tmp_path)


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path = tmp_path_factory.mktemp("tokenizer") / "toy.model"
    sentences = itertools.chain.from_iterable(toy_pairs(300))
    train_tokenizer(sentences, ["xx", "yy"], VOCABULARY, path)
    return Tokenizer.load(path)
