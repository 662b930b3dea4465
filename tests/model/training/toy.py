from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import torch

from model.text.text_codec import TextCodec
from model.text.tokenizer import Tokenizer
from model.training.config import TrainingConfig
from model.training.data.filters import FilterCounts
from model.training.run import open_run
from model.training.trainer import Trainer
from model.training.update.processes import ALONE, Processes
from model.training.warm_start import WarmStart

_LETTERS = str.maketrans("abcdefgh", "stuvwxyz")

VOCABULARY = 326
"""The number of pieces that SentencePiece needs: one for every letter."""


def reverse(word: str) -> str:
    """The toy language: every letter has one translation, and the order is reversed."""
    return word[::-1].translate(_LETTERS)


def toy_pairs(count: int, seed: int = 0, longest: int = 8) -> list[tuple[str, str]]:
    random = Random(seed)
    words = (
        "".join(random.choices("abcdefgh", k=random.randint(3, longest))) for _ in range(count)
    )
    return [(word, reverse(word)) for word in words]


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    return path


def own(codec: TextCodec) -> Tokenizer:
    """The codec of a run that does not start from an imported model."""
    assert isinstance(codec, Tokenizer)
    return codec


@dataclass
class Recorder:
    """A `Reporter` that records its arguments, and may act on a step."""

    corpora: dict[str, FilterCounts] = field(default_factory=dict)
    steps: list[dict[str, float]] = field(default_factory=list)
    validations: list[dict[str, float]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    then: Callable[[dict[str, float]], None] = lambda figures: None

    def on_corpus(self, name: str, counts: FilterCounts) -> None:
        self.corpora[name] = counts

    def on_step(self, figures: dict[str, float]) -> None:
        self.steps.append(figures)
        self.then(figures)

    def on_validation(self, figures: dict[str, float]) -> None:
        self.validations.append(figures)

    def on_warning(self, message: str) -> None:
        self.warnings.append(message)


@dataclass
class Workshop:
    """A folder with toy corpora, and runs in it."""

    folder: Path

    def recipe(self, **changes: Any) -> dict[str, Any]:
        tables: dict[str, Any] = {
            "preset": "tiny",
            "model": {"n_encoder_layers": 1, "n_decoder_layers": 1, "dropout": 0.1},
            "corpora": [{"name": "toy", "files": ["train.tsv"], "languages": ["xx", "yy"]}],
            "directions": [["xx", "yy"]],
            "tokenizer": {"vocab_size": VOCABULARY},
            "schedule": {"shape": "trapezoid", "peak": 3e-3, "warmup_steps": 3, "steps": 6},
            "validation": {"languages": ["xx", "yy"], "every": 100},
            "batch_tokens": 200,
            "max_length": 50,
            "chunk_pairs": 120,
            "precision": "fp32",
            "save_every": 100,
        }
        for key, value in changes.items():
            tables[key] = tables.get(key, {}) | value if isinstance(value, dict) else value
        return tables

    def open(
        self,
        run: str = "run",
        *,
        reporter: Recorder | None = None,
        resume: bool = False,
        workers: int = 0,
        init: WarmStart | None = None,
        processes: Processes = ALONE,
        **changes: Any,
    ) -> Trainer:
        config = TrainingConfig.parse(self.recipe(**changes), "recipe")
        return open_run(
            config,
            self.folder / run,
            self.folder,
            reporter or Recorder(),
            torch.device("cpu"),
            resume=resume,
            workers=workers,
            init=init,
            processes=processes,
        )
