"""The vocabulary in a run folder: learnt, given, or that of the checkpoint that it started from.

It is one SentencePiece model, tokenizer.model, or the files of an imported Marian model. In the
last case, and for attend's own checkpoints too, origin.json is the configuration of the checkpoint.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from model.checkpoint.config import CheckpointConfig
from model.checkpoint.reader import Checkpoint
from model.errors import TokenizerError, TrainingError
from model.text.marian_tokenizer import MarianTokenizer
from model.text.tokenizer import Tokenizer
from model.training.data.codec import TrainingCodec
from model.transformer.config import describe_validation

TOKENIZER_FILE = "tokenizer.model"
ORIGIN_FILE = "origin.json"


def take_vocabulary(run: Path, origin: Checkpoint) -> None:
    """Copy a checkpoint's vocabulary into the run folder."""
    if isinstance(origin.tokenizer, Tokenizer):
        (run / TOKENIZER_FILE).write_bytes(origin.tokenizer.serialized)
    else:
        for name, content in origin.tokenizer.files.items():
            (run / name).write_bytes(content)
    (run / ORIGIN_FILE).write_text(origin.config.model_dump_json(indent=2))


def read_vocabulary(run: Path) -> TrainingCodec:
    """Read the vocabulary of a run. Raises `ModelError`."""
    origin = origin_config(run)
    if origin and origin.marian_vocabulary:
        symbols = origin.marian_vocabulary.target_symbols
        try:
            return MarianTokenizer.load(run, symbols, separate=origin.marian_vocabulary.separate)
        except TokenizerError as error:
            raise TrainingError(str(error)) from None
    return Tokenizer.load(run / TOKENIZER_FILE)


def origin_config(run: Path) -> CheckpointConfig | None:
    """Return the configuration of the checkpoint whose vocabulary the run has.

    None if the vocabulary was learnt or given. Raises `TrainingError`.
    """
    path = run / ORIGIN_FILE
    try:
        return CheckpointConfig.model_validate_json(path.read_text())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise TrainingError(f"{path}: {describe_validation(error)}") from None
    except (OSError, ValueError) as error:
        raise TrainingError(f"{path}: {error}") from None
