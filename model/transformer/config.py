"""The hyperparameters that define a Transformer, as stored in a checkpoint.

Names follow the paper (Vaswani et al. 2017, table 3) where it has one.
"""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from model.errors import ConfigError

Activation = Literal["relu", "gelu", "quick_gelu", "swish"]
NormOrder = Literal["post", "pre"]
PositionLayout = Literal["interleaved", "halves", "marian"]
Autoregression = Literal["self-attention", "ssru"]


class Configuration(BaseModel):
    """Values that are checked before they are used."""

    @classmethod
    def parse(cls, values: object, origin: str) -> Self:
        """Parse untrusted data. Raises `ConfigError` naming `origin` and the invalid keys."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(f"{origin}: {describe_validation(error)}") from None


class TransformerConfig(Configuration):
    """The shape of one encoder-decoder Transformer. Frozen; unknown keys are rejected.

    Raises `pydantic.ValidationError` when built directly, `ConfigError` through `parse`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    d_model: int = Field(512, gt=0, description="width of every layer's output (§3.1)")
    d_ff: int = Field(2048, gt=0, description="inner width of the feed-forward network (§3.3)")
    n_heads: int = Field(8, gt=0, description="parallel attention heads h (§3.2.2)")
    decoder_d_ff: int | None = Field(None, gt=0, description="None: as in the encoder, d_ff")
    decoder_n_heads: int | None = Field(None, gt=0, description="None: as in the encoder, n_heads")
    n_encoder_layers: int = Field(6, gt=0, description="N of the encoder (§3.1)")
    n_decoder_layers: int = Field(6, gt=0, description="N of the decoder (§3.1)")
    source_vocab_size: int = Field(37_000, gt=0)
    target_vocab_size: int = Field(37_000, gt=0)
    max_length: int = Field(512, gt=0, description="longest sequence, in tokens, of either side")
    dropout: float = Field(0.1, ge=0.0, lt=1.0, description="P_drop (§5.4); training only")
    autoregression: Autoregression = Field(
        "self-attention",
        description="first sub-layer of the decoder: masked self-attention (§3.2.3) or ssru, a "
        "simpler simple recurrent unit (Kim et al. 2019)",
    )
    activation: Activation = "relu"
    norm_order: NormOrder = Field(
        "post",
        description="post: LayerNorm(x + Sublayer(x)) (§3.1); pre: x + Sublayer(LayerNorm(x))",
    )
    norm_epsilon: float = Field(1e-5, gt=0, description="added to the variance by LayerNorm")
    position_layout: PositionLayout = Field(
        "interleaved",
        description="interleaved: sin and cos alternate (§3.5); halves: all sines before all "
        "cosines; marian: as halves, with other wavelengths",
    )
    position_offset: int = Field(
        0, ge=0, description="position of the first token; fairseq's models count from pad_id + 1"
    )
    scale_embedding: bool = Field(True, description="multiply embeddings by √d_model (§3.4)")
    share_embeddings: bool = Field(True, description="one embedding for source and target (§3.4)")
    tie_output: bool = Field(
        True, description="the output projection is the target embedding (§3.4)"
    )
    output_bias: bool = Field(False, description="add a bias to the logits")
    pad_id: int = Field(0, ge=0, description="pads sources on the right; never attended to")
    eos_id: int = Field(1, ge=0)
    start_id: int = Field(2, ge=0, description="the decoder's first input; may be pad_id")

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        for name in ("n_heads", "decoder_n_heads"):
            heads = getattr(self, name)
            if heads is not None and self.d_model % heads:
                raise ValueError(f"d_model {self.d_model} is not divisible by {name} {heads}")
        if self.d_model % 2:
            raise ValueError(f"d_model {self.d_model} is odd; sinusoidal positions need pairs")
        if self.share_embeddings and self.source_vocab_size != self.target_vocab_size:
            raise ValueError("share_embeddings needs source_vocab_size equal to target_vocab_size")
        smallest = min(self.source_vocab_size, self.target_vocab_size)
        for name in ("pad_id", "eos_id", "start_id"):
            if getattr(self, name) >= smallest:
                raise ValueError(
                    f"{name} {getattr(self, name)} is outside the vocabulary of {smallest}"
                )
        if self.eos_id == self.pad_id:
            raise ValueError("eos_id and pad_id must differ")
        return self

    @property
    def d_k(self) -> int:
        """Width of the queries and keys of an encoder head, d_model / h (§3.2.2)."""
        return self.d_model // self.n_heads

    @property
    def is_recurrent(self) -> bool:
        """Whether the decoder has an SSRU in place of its self-attention."""
        return self.autoregression == "ssru"

    @property
    def n_heads_of_decoder(self) -> int:
        """Number of heads of each attention in the decoder."""
        return self.decoder_n_heads or self.n_heads

    @property
    def d_ff_of_decoder(self) -> int:
        """Inner width of the decoder's feed-forward networks."""
        return self.decoder_d_ff or self.d_ff


def vocabulary_fields(vocab_size: int, pad_id: int, eos_id: int) -> dict[str, int]:
    """Return the fields that follow from one vocabulary for both sides.

    The decoder starts with `<pad>`, as in Marian.
    """
    return {
        "source_vocab_size": vocab_size,
        "target_vocab_size": vocab_size,
        "pad_id": pad_id,
        "eos_id": eos_id,
        "start_id": pad_id,
    }


def describe_validation(error: ValidationError) -> str:
    """Describe pydantic's errors in one line: each invalid key with the reason."""
    reasons = []
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        key = ".".join(str(part) for part in item["loc"])
        if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            reasons.append(f"unknown key {key!r}")
            continue
        reason = item["msg"].removeprefix("Value error, ")
        reasons.append(f"{key!r}: {reason[:1].lower()}{reason[1:]}" if key else reason)
    return "; ".join(reasons)


PRESETS: dict[str, TransformerConfig] = {
    # Small enough for manual tests.
    "tiny": TransformerConfig(
        d_model=32, d_ff=64, n_heads=4, n_encoder_layers=2, n_decoder_layers=2,
        source_vocab_size=64, target_vocab_size=64, max_length=128, dropout=0.0,
    ),
    # What two CPU cores can train: deep encoder, shallow decoder (Kasai et al. 2021).
    "small": TransformerConfig(
        d_model=256, d_ff=1024, n_heads=4, n_encoder_layers=6, n_decoder_layers=2,
        source_vocab_size=8_000, target_vocab_size=8_000, norm_order="pre",
    ),
    # Table 3, "base": with the paper's 37,000 shared pieces 63 M, quoted there as 65 M.
    "base": TransformerConfig(),
    # Table 3, "big".
    "big": TransformerConfig(d_model=1024, d_ff=4096, n_heads=16, dropout=0.3),
}  # fmt: skip
