"""Remembers what was found in short texts: sentences recur, and so do their facts and checks."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple

Others = TypeVarTuple("Others")
R = TypeVar("R")

N_REMEMBERED = 2048
MAX_CHARACTERS = 500
"""Results kept of each function, and code points of the first text that one may have: a few
megabytes at most."""


def remembered(find: Callable[[str, *Others], R]) -> Callable[[str, *Others], R]:
    """Keep the latest results of a function of a text and of others that are about as long."""
    kept = lru_cache(N_REMEMBERED)(find)

    @wraps(find)
    def recall(text: str, *others: *Others) -> R:
        return (find if len(text) > MAX_CHARACTERS else kept)(text, *others)

    return recall
