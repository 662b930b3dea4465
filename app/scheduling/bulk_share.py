"""Limits the share of an engine for long lists, so that single segments get room and short steps.

Measured with two threads and beam 4, 20 single segments a second beside lists of 2,000 segments,
one after the other (twice each; a quarter as many and 400 for a model of base size):

    hypotheses   shipped: p95 of the single ones, a list   base size: p95, a list alone
    no bound     145, 147 ms    1.5, 1.7 s
    128          80, 82         1.5, 1.6
    64           43, 43         1.5, 1.5                    329, 397 ms    3.35, 3.45 s
    32           25, 27         1.5, 1.5                    201, 218       3.7, 3.8
    16           18, 21         1.6, 1.8                    138            4.1
"""

from __future__ import annotations

import math

ALONE = 64
"""Maximum hypotheses of lists in an engine, though always at least one segment."""

IN_COMPANY = 32
"""The same while single segments arrive."""

COMPANY = 1.0
"""Seconds after a single segment in which others are expected."""


class BulkShare:
    """The share of one engine; `now` is by the scheduler's clock."""

    def __init__(self) -> None:
        self._company_until = -math.inf

    def single_came(self, now: float) -> None:
        """Record a segment of the interactive lane entering the engine."""
        self._company_until = now + COMPANY

    def n_rows(self, now: float) -> int:
        """Return the maximum hypotheses of the bulk lane in the engine."""
        return IN_COMPANY if now < self._company_until else ALONE
