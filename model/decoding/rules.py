"""Rules of search: attend's own, that of `transformers`, that of Marian; no tensors.

A checkpoint names its rule. Searches do not ask which it is but read its `Traits`, where all that
the rules differ in has a name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

AtLimit = Literal["behind", "as it is", "ended"]
Stopping = Literal["settled", "full", "settled at present"]

BEHIND_FINISHED = -1e30
"""The score of a hypothesis that ranks behind all finished ones, times its place among such."""


@dataclass(frozen=True)
class Traits:
    """What a search needs to know of a rule; the defaults are attend's own rule.

    length_offset  c of `length_normalisation`
    at_limit       what becomes of a hypothesis that lives at the token limit: it ranks "behind" all
                   finished ones, is finished "as it is", or is "ended" at no cost
    stopping       when, before the limit, a sentence is done, beside being "settled", which is when
                   nothing that lives can come among the n best any more, and ends any search: as
                   soon as K hypotheses are finished ("full"), or no live one has a better score
                   than the worst of those by its present length ("settled at present")
    narrows        a step takes as many continuations as there are hypotheses, and what ends leaves
                   its place empty; else 2K, of which those among the first K may end
    renormalises   the probability of `<pad>`, never chosen, is shared out among the others
    unk_id         a token that is never chosen either and keeps its probability; None: no such
    """

    length_offset: int = 5
    at_limit: AtLimit = "behind"
    stopping: Stopping = "settled"
    narrows: bool = False
    renormalises: bool = False
    unk_id: int | None = None

    @property
    def forces_end(self) -> bool:
        """Whether the last token that the limit allows is always the end of sentence."""
        return self.at_limit == "ended"


@dataclass(frozen=True)
class HuggingFaceRule:
    """Search as `transformers` generates (v5, `GenerationMixin._beam_search`); see docs/interop.md.

    Scores are log-probability over length^α, and hypotheses at the token limit join as they are.
    A sentence is done once K hypotheses are finished and none that lives on can, by the measure
    of `early_stopping`, get past the worst of them.

    early_stopping     True: at once; False: by the score at the present length, a heuristic;
                       "never": by the score at the token limit, which is exact
    force_end          at the token limit every hypothesis ends, at no cost
    renormalise        the probability of `<pad>`, never chosen, is shared out among the others
    max_target_tokens  the cap where a search names none; None is source tokens + 50
    """

    early_stopping: bool | Literal["never"] = False
    force_end: bool = False
    renormalise: bool = False
    max_target_tokens: int | None = None

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  (it travels in a checkpoint)

    def __post_init__(self) -> None:
        if self.max_target_tokens is not None and self.max_target_tokens < 1:
            raise ValueError(f"max_target_tokens must be at least 1, not {self.max_target_tokens}")

    def token_limit(self, n_source: int) -> int | None:  # noqa: ARG002
        """The cap for a source of that many tokens; None where the rule has none."""
        return self.max_target_tokens

    @property
    def _stopping(self) -> Stopping:
        if self.early_stopping == "never":
            return "settled"
        return "full" if self.early_stopping else "settled at present"

    @property
    def traits(self) -> Traits:
        """What sets it apart."""
        return Traits(
            length_offset=0,
            at_limit="ended" if self.force_end else "as it is",
            stopping=self._stopping,
            renormalises=self.renormalise,
        )


@dataclass(frozen=True)
class MarianRule:
    """Search as Marian translates (1.12, `beam_search.cpp`, `history.h`); see docs/interop.md.

    A step takes as many of the best continuations as hypotheses live. Those that end leave the
    beam, which is that much narrower from then on. Scores are log-probability over length^α;
    hypotheses at the token limit join as they are.

    unk_id             `<unk>`, never chosen; it keeps its probability
    max_length_factor  the cap where a search names none, times the source's tokens
    """

    unk_id: int | None
    max_length_factor: float = 3.0

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  (it travels in a checkpoint)

    def __post_init__(self) -> None:
        if self.unk_id is not None and self.unk_id < 0:
            raise ValueError(f"unk_id must be at least 0, not {self.unk_id}")
        if not 0 < self.max_length_factor < math.inf:
            raise ValueError(f"max_length_factor must be above 0, not {self.max_length_factor}")

    def token_limit(self, n_source: int) -> int:
        """The cap for a source of that many tokens, its end counted."""
        return math.ceil(self.max_length_factor * n_source)

    @property
    def traits(self) -> Traits:
        """What sets it apart."""
        return Traits(length_offset=0, at_limit="as it is", narrows=True, unk_id=self.unk_id)


Rule: TypeAlias = HuggingFaceRule | MarianRule

_OWN = Traits()


@cache
def traits_of(rule: Rule | None) -> Traits:
    """What sets a rule apart; None is attend's own."""
    return rule.traits if rule else _OWN
