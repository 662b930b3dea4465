"""The JSON files of a Marian or M2M-100 folder in Hugging Face format.

Defaults are those of `transformers`.
"""

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from model.checkpoint.config import read_file
from model.errors import CheckpointError

CONFIG_FILE = "config.json"
GENERATION_FILE = "generation_config.json"
TOKENIZER_FILE = "tokenizer_config.json"


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file. Raises `CheckpointError`."""
    try:
        values = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not JSON: {error}") from None
    if not isinstance(values, dict):
        raise CheckpointError(f"{path}: not a JSON object")
    return values


class ForeignFile(BaseModel):
    """Another project's file; unknown keys are kept in `model_extra`."""

    model_config = ConfigDict(frozen=True, extra="allow")


class MarianConfig(ForeignFile):
    """config.json."""

    model_type: str = ""
    d_model: int = 1024
    encoder_layers: int = 12
    decoder_layers: int = 12
    encoder_ffn_dim: int = 4096
    decoder_ffn_dim: int = 4096
    encoder_attention_heads: int = 16
    decoder_attention_heads: int = 16
    vocab_size: int = 58101
    decoder_vocab_size: int | None = None
    max_position_embeddings: int = 1024
    activation_function: str = "gelu"
    dropout: float = 0.1
    scale_embedding: bool = False
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True
    decoder_start_token_id: int = 58100
    pad_token_id: int = 58100
    eos_token_id: int | list[int] = 0

    @property
    def target_vocab_size(self) -> int:
        return self.decoder_vocab_size or self.vocab_size

    @property
    def eos_id(self) -> int:
        """The id of `</s>`, the first if several are listed."""
        eos = self.eos_token_id
        return eos[0] if isinstance(eos, list) else eos


class M2M100Config(MarianConfig):
    """config.json of M2M-100 or NLLB, which has the same keys."""

    vocab_size: int = 128112
    activation_function: str = "relu"
    scale_embedding: bool = True
    decoder_start_token_id: int = 2
    pad_token_id: int = 1
    eos_token_id: int | list[int] = 2


class GenerationConfig(ForeignFile):
    """generation_config.json, or the same keys of config.json."""

    num_beams: int | None = None
    length_penalty: float | None = None
    early_stopping: bool | Literal["never"] | None = None
    max_length: int | None = None
    max_new_tokens: int | None = None
    min_length: int | None = None
    min_new_tokens: int | None = None
    no_repeat_ngram_size: int | None = None
    repetition_penalty: float | None = None
    bad_words_ids: list[list[int]] | None = None
    suppress_tokens: list[int] | None = None
    forced_eos_token_id: int | list[int] | None = None
    renormalize_logits: bool | None = None
    decoder_start_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    pad_token_id: int | None = None
