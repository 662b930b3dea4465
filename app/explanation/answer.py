"""The answer of POST /explain, in plain types."""

from dataclasses import dataclass, field
from typing import Literal

from app.translation.answers import Segment, Usage, described
from model.engine.explanations import AttentionKind, StackName


@dataclass(slots=True)
class LikelyToken:
    """A token that may come next."""

    piece: str
    log_prob: float
    probability: float


@dataclass(slots=True)
class LiveBeam:
    """A hypothesis that is alive when a step begins."""

    parent: int | None = field(metadata=described("its index among the beams of the step before"))
    piece: str | None = field(metadata=described("its last token; null at the first step"))
    log_prob: float = field(metadata=described("of all its tokens"))
    likeliest: list[LikelyToken] = field(metadata=described("next tokens, most probable first"))


@dataclass(slots=True)
class EndedBeam:
    """A beam that became a finished hypothesis in this step."""

    beam: int = field(metadata=described("its index among the beams of this step"))
    text: str
    score: float = field(
        metadata=described("length-normalised log-probability, as a search ranks by")
    )
    capped: bool = field(metadata=described("it was cut at the token limit"))


@dataclass(slots=True)
class ShownStep:
    """A step: which beams were alive, and which ended. The next step has those that lived on."""

    beams: list[LiveBeam]
    ended: list[EndedBeam]


@dataclass(slots=True)
class ShownSearch:
    """The steps of a search."""

    rule: Literal["attend", "transformers", "marian"] = field(
        metadata=described("the rule of search of the checkpoint")
    )
    beam_size: int
    length_penalty: float
    max_target_tokens: int = field(metadata=described("the limit of this sentence"))
    steps: list[ShownStep]


@dataclass(slots=True)
class AttentionColumn:
    """A token that is attended to, in equation 1."""

    piece: str
    key: list[float]
    value: list[float]
    product: float = field(metadata=described("q·k"))
    scaled: float = field(metadata=described("q·k / √d_k"))
    seen: bool = field(metadata=described("false: the mask makes it −∞"))
    weight: float = field(metadata=described("after the softmax"))


@dataclass(slots=True)
class ComputedAttention:
    """Scaled dot-product attention of one token in one head: output = Σ weight · value."""

    kind: AttentionKind
    layer: int
    head: int
    token: int
    piece: str
    d_k: int
    query: list[float]
    columns: list[AttentionColumn]
    output: list[float]


@dataclass(slots=True)
class ShownActivation:
    """A vector of the position, by its sub-layer and its name within it."""

    sublayer: str
    name: str
    vector: list[float]


@dataclass(slots=True)
class LikelyLogit:
    """A token with one of the highest logits."""

    piece: str
    logit: float
    probability: float = field(metadata=described("after the softmax over the whole vocabulary"))


@dataclass(slots=True, kw_only=True)
class LayerActivations:
    """The vectors of one position: its embedding, one layer, and the end of its stack."""

    stack: StackName
    layer: int
    token: int
    piece: str = field(metadata=described("the token at this position; in the decoder, the last"))
    embedding_scale: float = field(metadata=described("√d_model, or 1 where the model has none"))
    vectors: list[ShownActivation]
    logits: list[LikelyLogit] | None = field(
        default=None, metadata=described("of the decoder: the highest, best first")
    )
    log_sum_exp: float | None = field(
        default=None, metadata=described("log Σ e^logit over the vocabulary")
    )


@dataclass(slots=True, kw_only=True)
class PositionTable:
    """The first rows of the model's positional encoding, [positions, d_model]."""

    shape: tuple[int, int]
    dtype: Literal["float16"] = "float16"
    encoding: Literal["base64"] = "base64"
    weights: str = field(metadata=described("little-endian, row-major"))


@dataclass(slots=True, kw_only=True)
class ExplainAnswer:
    """The answer of POST /explain."""

    model: str
    source: str
    target: str
    text: str = field(metadata=described("the translation"))
    score: float
    confidence: float
    segment: Segment = field(metadata=described("its tokens and their spans"))
    search: ShownSearch
    attention: ComputedAttention | None = None
    activations: LayerActivations | None = None
    positions: PositionTable | None = None
    usage: Usage
