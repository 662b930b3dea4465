from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from model.text.tokenizer import Tokenizer
from model.training.data.vocabulary import train_tokenizer
from model.transformer.config import TransformerConfig
from model.transformer.transformer import Transformer


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """Text for a vocabulary of 370 pieces, most of which are single bytes."""
    return [
        "The quick brown fox jumps over the lazy dog.",
        "Le vif renard brun saute par-dessus le chien paresseux.",
        "The weather is nice today.",
        "Il fait beau aujourd'hui, n'est-ce pas ?",
        "Where is the station, please?",
        "Où est la gare, s'il vous plaît ?",
        "An officer finds five official offices.",
    ] * 20


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory, sentences: list[str]) -> Tokenizer:
    path: Path = tmp_path_factory.mktemp("tokenizer") / "sentencepiece.model"
    train_tokenizer(sentences, ["en", "fr"], 370, path)
    return Tokenizer.load(path)


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Transformer]:
    """Tiny models with random biases and norms, so that tests depend on each of them."""

    def make(*, seed: int = 0, spread: float = 0.2, **changes: object) -> Transformer:
        values: dict[str, object] = {
            "d_model": 16,
            "d_ff": 32,
            "n_heads": 4,
            "n_encoder_layers": 2,
            "n_decoder_layers": 3,
            "source_vocab_size": 12,
            "target_vocab_size": 12,
            "max_length": 16,
            "dropout": 0.0,
        }
        config = TransformerConfig.model_validate(values | changes)
        generator = torch.Generator().manual_seed(seed)
        model = Transformer(config)
        with torch.no_grad():
            for parameter in model.parameters():
                base = torch.rand(parameter.shape, generator=generator) - 0.5
                parameter.copy_(base if parameter.dim() > 1 else 1 + base)
                if parameter.dim() > 1:
                    parameter.mul_(4 * spread)
        return model.eval()

    return make
