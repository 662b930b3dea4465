"""The recipe: everything that determines the outcome of a training run, stored with the run."""

import tomllib
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from model.errors import ConfigError
from model.text.text_codec import TextCodec
from model.training.data.corpus import CorpusConfig, Files, both_ways
from model.training.data.filters import FilterConfig
from model.training.data.noise import NoiseConfig
from model.training.data.vocabulary import SMALLEST_VOCABULARY, TokenizerConfig
from model.training.update.optimizer import OptimizerConfig, ScheduleConfig, Table
from model.training.update.precision import Precision
from model.transformer.config import PRESETS, Configuration, TransformerConfig, vocabulary_fields

FROM_VOCABULARY = frozenset(vocabulary_fields(vocab_size=2, pad_id=1, eos_id=0))
"""Fields of `TransformerConfig` that follow from the learnt vocabulary."""


class ValidationConfig(Table):
    """Measurement of progress on held-out pairs."""

    files: dict[str, Files] = Field(
        default_factory=dict, description="name → file of pairs, or two files"
    )
    languages: tuple[str, str] = ("en", "fr")
    every: int = Field(1000, gt=0, description="steps between measurements")
    loss_pairs: int = Field(500, gt=0, description="pairs per file and direction for the loss")
    bleu_pairs: int = Field(100, ge=0, description="how many of them are translated for BLEU")
    written_numbers: int = Field(
        0,
        ge=0,
        description="generated English-French sentences with facts, of which the share that is "
        "translated word for word is measured as written_numbers.LANGUAGE.right",
    )
    metric: Literal["cross_entropy", "bleu"] = Field(
        "cross_entropy", description="what decides on the best step, as the mean over all sets"
    )
    patience: int = Field(
        0, ge=0, description="stop after this many measurements without a better one; 0: never"
    )
    keep_best: bool = Field(
        False, description="the checkpoint is the best measured step, not an average of the last"
    )

    @model_validator(mode="after")
    def _can_be_measured(self) -> Self:
        needed = [name for name in ("patience", "keep_best") if getattr(self, name)]
        if needed and not self.files:
            raise ValueError(f"{needed[0]} needs validation.files")
        if needed and self.metric == "bleu" and not self.bleu_pairs:
            raise ValueError("metric bleu needs bleu_pairs")
        return self


class TrainingConfig(Configuration, Table):
    """A recipe; the defaults are those of the paper's base model (§5).

    Deviations from the paper: saves are counted in steps, not timed; the vocabulary is learnt by
    SentencePiece's unigram model, not by byte-pair encoding.

    Raises `ConfigError` through `parse`, naming file and key.
    """

    preset: str = Field("base", description="base configuration of the model")
    model: dict[str, Any] = Field(default_factory=dict, description="TransformerConfig overrides")
    corpora: list[CorpusConfig] = Field(min_length=1)
    directions: list[tuple[str, str]] = Field(
        default_factory=list, description="source and target languages; empty: all possible ones"
    )
    tokenizer: TokenizerConfig = TokenizerConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    filters: FilterConfig = FilterConfig()
    noise: NoiseConfig = NoiseConfig()
    straight_apostrophes: bool = Field(
        False, description="replace curly apostrophes by straight ones on both sides"
    )
    validation: ValidationConfig = ValidationConfig()
    batch_tokens: int = Field(25_000, gt=0, description="tokens of one side in a batch (§5.1)")
    accumulate: int = Field(1, gt=0, description="batches per update")
    max_length: int = Field(200, gt=2, description="longer sentences are skipped")
    chunk_pairs: int = Field(20_000, gt=0, description="pairs sorted by length together")
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    loss_candidates: int = Field(
        0, ge=0, description="sample of the vocabulary for the loss; 0: the whole vocabulary"
    )
    precision: Precision = Field(
        "auto", description="type of products; auto: bf16 where it is faster; int8: on a CPU"
    )
    seed: int = 1
    save_every: int = Field(1000, gt=0, description="steps between saves")
    average_last: int = Field(5, gt=0, description="saves averaged into the checkpoint (§6.1)")
    ema: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="the checkpoint is a moving average of the weights with this decay; 0: not",
    )
    store: Literal["fp32", "fp16"] = Field(
        "fp32", description="type of the checkpoint's weights on disk; fp16 halves the file"
    )

    @model_validator(mode="before")
    @classmethod
    def _default_max_length_fits(cls, values: Any) -> Any:
        """Shorten the default `max_length` to that of a smaller model."""
        if not isinstance(values, dict) or "max_length" in values:
            return values
        preset, model = PRESETS.get(values.get("preset", "base")), values.get("model")
        own = model.get("max_length") if isinstance(model, dict) else None
        limit = own or (preset.max_length if preset else None)
        default = cls.model_fields["max_length"].default
        return values | {"max_length": min(default, limit)} if isinstance(limit, int) else values

    @field_validator("preset")
    @classmethod
    def _known_preset(cls, value: str) -> str:
        if value not in PRESETS:
            raise ValueError(f"no preset '{value}'; there are: {', '.join(PRESETS)}")
        return value

    @model_validator(mode="after")
    def _languages_match(self) -> Self:
        if missing := self.all_directions - self._possible_directions:
            source, target = min(missing)
            raise ValueError(f"directions: no corpus for {source} → {target}")
        for corpus in self.corpora:
            if not corpus.all_directions & self.all_directions:
                raise ValueError(
                    f"corpora: '{corpus.name}' ({'-'.join(corpus.languages)}) "
                    f"matches none of the directions"
                )
        validation = self.validation
        if validation.files and not both_ways(validation.languages) & self.all_directions:
            raise ValueError(
                f"validation.languages: {'-'.join(validation.languages)} is not trained"
            )
        return self

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if self.schedule.decay_steps > self.schedule.steps:
            raise ValueError("schedule.decay_steps exceeds schedule.steps")
        if self.max_length > self.batch_tokens:
            raise ValueError(f"max_length {self.max_length} exceeds batch_tokens")
        if fixed := sorted(FROM_VOCABULARY & self.model.keys()):
            raise ValueError(f"model.{fixed[0]} follows from the vocabulary")
        try:
            shape = self.transformer(self.vocab_size - 1, 0, self.vocab_size)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        if self.max_length > shape.max_length:
            raise ValueError(
                f"max_length {self.max_length} exceeds the model's ({shape.max_length})"
            )
        if self.ema and self.validation.keep_best:
            raise ValueError("ema and validation.keep_best choose different weights; set one")
        if self.tokenizer.file and self.tokenizer.vocab_size:
            raise ValueError("tokenizer: give either file or vocab_size")
        return self

    @property
    def _possible_directions(self) -> frozenset[tuple[str, str]]:
        return frozenset().union(*(corpus.all_directions for corpus in self.corpora))

    @property
    def all_directions(self) -> frozenset[tuple[str, str]]:
        return frozenset(self.directions) or self._possible_directions

    @property
    def vocab_size(self) -> int:
        preset = max(PRESETS[self.preset].target_vocab_size, SMALLEST_VOCABULARY)
        return self.tokenizer.vocab_size or preset

    def transformer(
        self, pad_id: int, eos_id: int, vocab_size: int, target_vocab_size: int | None = None
    ) -> TransformerConfig:
        """Return the model configuration for a vocabulary of both sides, or one of each.

        Raises `ConfigError`.
        """
        values = PRESETS[self.preset].model_dump() | vocabulary_fields(vocab_size, pad_id, eos_id)
        values |= {"target_vocab_size": target_vocab_size or vocab_size} | self.model
        return TransformerConfig.parse(values, "[model]")

    def shape_for(self, codec: TextCodec) -> TransformerConfig:
        """Return the model configuration for a codec's vocabulary. Raises `ConfigError`."""
        sizes = codec.source_vocab_size, codec.target_vocab_size
        return self.transformer(codec.pad_id, codec.eos_id, *sizes)


def read_recipe(path: Path) -> dict[str, Any]:
    """Read the tables of a TOML file. Raises `ConfigError`."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
