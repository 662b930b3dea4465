"""The length penalty; compiled too, for the CPU engine's kernels, so it is plain arithmetic."""

from __future__ import annotations


def length_normalisation(length: int, alpha: float, offset: int) -> float:
    """((c + n) / (c + 1))^α, which the log-probability of n tokens is divided by; c is `offset`.

    c = 5 is lp(Y) of Wu et al. 2016, equation 14; c = 0 the n^α of `transformers` and Marian. n
    counts the end-of-sentence token.
    """
    return float(((offset + length) / (offset + 1)) ** alpha)
