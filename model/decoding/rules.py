"""Rules of search: attend's own, that of `transformers`, that of Marian; no tensors.

A checkpoint names its rule. Searches read only the rule's `Traits`, which name every difference.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

AtLimit = Literal["behind", "as it is", "ended"]
Stopping = Literal["settled", "full", "settled at present"]
Processing = Literal["ctranslate2", "transformers"]

BEHIND_FINISHED = -1e30
"""The score of a hypothesis that ranks after all finished ones, times its rank among such."""


def length_normalisation(length: int, alpha: float, offset: int) -> float:
    """((c + n) / (c + 1))^α, the divisor of the log-probability of n tokens; c is `offset`.

    c = 5 is lp(Y) of Wu et al. 2016, equation 14; c = 0 the n^α of `transformers` and Marian. n
    counts the end-of-sentence token. Also compiled for the CPU engine, so it is plain arithmetic.
    """
    return float(((offset + length) / (offset + 1)) ** alpha)


@dataclass(frozen=True)
class Traits:
    """The properties of a rule that a search needs; the defaults are attend's own rule.

    length_offset  c of `length_normalisation`
    at_limit       what becomes of a live hypothesis at the token limit: it ranks "behind" all
                   finished ones, is finished "as it is", or is "ended" at no cost
    stopping       when a sentence is done before the limit. Any search ends when it is "settled":
                   no live hypothesis can enter the n best. Others end earlier: once K hypotheses
                   are finished ("full"), or once no live one has a better score, at its present
                   length, than the worst of those ("settled at present")
    narrows        a step takes one continuation per live hypothesis, and an ended one leaves the
                   beam narrower; else it takes 2K, of which those among the first K may end
    renormalises   the probability of `<pad>`, never chosen, is shared among the other tokens
    unk_id         a token that is never chosen but keeps its probability
    processors     whose `LogitsProcessors`: of "ctranslate2", which change logits, or of
                   "transformers", where those of a beam search change log-probabilities, so that
                   a forbidden token keeps its own, and the start symbol is a token of a hypothesis
    """

    length_offset: int = 5
    at_limit: AtLimit = "behind"
    stopping: Stopping = "settled"
    narrows: bool = False
    renormalises: bool = False
    unk_id: int | None = None
    processors: Processing = "ctranslate2"

    @property
    def forces_end(self) -> bool:
        """Whether the last token that the limit allows is always the end of sentence."""
        return self.at_limit == "ended"


@dataclass(frozen=True)
class HuggingFaceRule:
    """Search as `transformers` generates (v5, `GenerationMixin._beam_search`); see docs/interop.md.

    Scores are log-probability over length^α, and hypotheses at the token limit join as they are.
    A sentence is done once K hypotheses are finished and no live one can outrank the worst of
    them, as measured by `early_stopping`.

    early_stopping     True: at once; False: by the score at the present length, a heuristic;
                       "never": by the score at the token limit, which is exact
    force_end          at the token limit every hypothesis ends, at no cost
    renormalise        the probability of `<pad>`, never chosen, is shared among the other tokens
    max_target_tokens  the limit where a search names none; None is source tokens + 50
    processors         see `Traits`
    """

    early_stopping: bool | Literal["never"] = False
    force_end: bool = False
    renormalise: bool = False
    max_target_tokens: int | None = None
    processors: Processing = "transformers"

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  (stored in a checkpoint)

    def __post_init__(self) -> None:
        if self.max_target_tokens is not None and self.max_target_tokens < 1:
            raise ValueError(f"max_target_tokens must be at least 1, not {self.max_target_tokens}")

    def token_limit(self, n_source: int) -> int | None:  # noqa: ARG002
        """The limit for a source of `n_source` tokens, if the rule has one."""
        return self.max_target_tokens

    @property
    def traits(self) -> Traits:
        stopping: Stopping = "full" if self.early_stopping else "settled at present"
        return Traits(
            length_offset=0,
            at_limit="ended" if self.force_end else "as it is",
            stopping="settled" if self.early_stopping == "never" else stopping,
            renormalises=self.renormalise,
            processors=self.processors,
        )


@dataclass(frozen=True)
class MarianRule:
    """Search as Marian translates (1.12, `beam_search.cpp`, `history.h`); see docs/interop.md.

    A step takes as many of the best continuations as there are live hypotheses. Those that end
    leave the beam, which stays narrower. Scores are log-probability over length^α; hypotheses at
    the token limit join as they are.

    unk_id             `<unk>`, never chosen; it keeps its probability
    max_length_factor  the limit where a search names none, times the source's tokens
    """

    unk_id: int | None
    max_length_factor: float = 3.0

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  (stored in a checkpoint)

    def __post_init__(self) -> None:
        if self.unk_id is not None and self.unk_id < 0:
            raise ValueError(f"unk_id must be at least 0, not {self.unk_id}")
        if not 0 < self.max_length_factor < math.inf:
            raise ValueError(f"max_length_factor must be above 0, not {self.max_length_factor}")

    def token_limit(self, n_source: int) -> int:
        """The limit for a source of `n_source` tokens, including its end."""
        return math.ceil(self.max_length_factor * n_source)

    @property
    def traits(self) -> Traits:
        return Traits(length_offset=0, at_limit="as it is", narrows=True, unk_id=self.unk_id)


Rule: TypeAlias = HuggingFaceRule | MarianRule


@cache
def traits_of(rule: Rule | None) -> Traits:
    """Return a rule's traits; None is attend's own rule."""
    return rule.traits if rule else Traits()
