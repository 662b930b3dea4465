"""Remembers what was found in short texts: sentences recur, and so do their facts and checks."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple

Texts = TypeVarTuple("Texts")
R = TypeVar("R")

N_REMEMBERED = 2048
MAX_CHARACTERS = 1000
"""Results kept of each function, and code points of the texts that one may have: a few megabytes
at most."""


def remembered(find: Callable[[*Texts], R]) -> Callable[[*Texts], R]:
    """Keep the latest results of a function of texts and languages, which are never changed."""
    kept = lru_cache(N_REMEMBERED)(find)

    @wraps(find)
    def recall(*args: *Texts) -> R:
        n_characters = sum(len(one) for one in args if isinstance(one, str))
        return (find if n_characters > MAX_CHARACTERS else kept)(*args)

    return recall
