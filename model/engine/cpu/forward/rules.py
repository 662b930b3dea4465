"""The rules of search as kernels read them: `model.decoding.rules.Traits`, a record a slot."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from model.decoding.hypothesis import SearchOptions
from model.decoding.length_penalty import length_normalisation
from model.decoding.rules import AtLimit, Stopping
from model.engine.cpu.kernels.jit import kernel

BEHIND, AS_IT_IS, ENDED = range(3)
SETTLED, FULL, SETTLED_AT_PRESENT = range(3)
"""The values of `Traits.at_limit` and of `Traits.stopping`, in their order there."""

NO_TOKEN = -1
"""In place of an id."""

RULE = np.dtype(
    [("alpha", np.float64), ("length_offset", np.int64), ("at_limit", np.int64),
     ("stopping", np.int64), ("unk_id", np.int64), ("first_id", np.int64),
     ("narrows", np.bool_), ("renormalises", np.bool_)],
    align=True,
)  # fmt: skip
"""`alpha` is the length penalty, `first_id` that of `SearchOptions`; the rest is as in `Traits`."""


def rule_record(options: SearchOptions) -> tuple[object, ...]:
    """For a place in an array of `RULE`."""
    traits = options.traits
    return (
        options.length_penalty,
        traits.length_offset,
        get_args(AtLimit).index(traits.at_limit),
        get_args(Stopping).index(traits.stopping),
        NO_TOKEN if traits.unk_id is None else traits.unk_id,
        NO_TOKEN if options.first_id is None else options.first_id,
        traits.narrows,
        traits.renormalises,
    )


_length_normalisation = kernel(length_normalisation)


@kernel
def normalisation(length: int, rule: Any) -> np.float32:
    """What the log-probability of so many tokens is divided by; `rule` is a record."""
    return np.float32(_length_normalisation(length, rule.alpha, rule.length_offset))
