"""The hypotheses in flight, on the host: one row per slot, filled from reports.

Each step keeps a token per hypothesis and the hypothesis that it continues; a finished hypothesis
is the end of such a chain. The rules are those of `model.decoding.beam`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.decoding.agreement import agreed_ids
from model.decoding.hypothesis import Hypothesis, SearchOptions, outcome_of_rows
from model.decoding.rules import BEHIND_FINISHED, Traits
from model.engine.torch.search import Report
from model.errors import NumericalError

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


class BeamHistory:
    """N slots with K hypotheses each, up to T tokens long, of searches with the same traits.

    active, length, limit [N]     tokens so far, and at most
    penalty, n_best [N]           of the search options
    live [N, K]                   log-probabilities of the live hypotheses, best first
    tokens, log_probs [N, T, K]   chosen at each step
    parents [N, T, K]             the hypotheses of the step before that they continue
    score [N, K]                  of the best finished ones, best first; −∞: none
    end_length, end_parent, end_token, end_log_prob [N, K]
                                  their lengths; their last tokens, and what these continue
    """

    def __init__(self, n_slots: int, beam: int, n_target: int, traits: Traits, eos_id: int) -> None:
        def ints(*shape: int) -> Ints:
            return np.zeros((n_slots, *shape), np.int32)

        def floats(*shape: int) -> Floats:
            return np.zeros((n_slots, *shape), np.float32)

        self.beam = beam
        self.traits = traits
        self.eos_id = eos_id
        self.active = np.zeros(n_slots, np.bool_)
        self.length = ints()
        self.limit = ints()
        self.penalty = np.zeros(n_slots, np.float64)
        self.n_best = ints()
        self.live = floats(beam)
        self.tokens = ints(n_target, beam)
        self.log_probs = floats(n_target, beam)
        self.parents = ints(n_target, beam)
        self.score = floats(beam)
        self.end_length = ints(beam)
        self.end_parent = ints(beam)
        self.end_token = ints(beam)
        self.end_log_prob = floats(beam)

    @property
    def _arrays(self) -> list[NDArray[np.generic]]:
        return [value for value in vars(self).values() if isinstance(value, np.ndarray)]

    def resized(self, n_slots: int, n_target: int) -> BeamHistory:
        """Return the same history with more slots or positions, or with fewer empty slots."""
        other = BeamHistory(n_slots, self.beam, n_target, self.traits, self.eos_id)
        for mine, theirs in zip(self._arrays, other._arrays, strict=True):
            part = tuple(slice(min(a, b)) for a, b in zip(mine.shape, theirs.shape, strict=True))
            theirs[part] = mine[part]
        return other

    def move(self, source: Sequence[int], target: Sequence[int]) -> None:
        """Move sentences to empty slots."""
        for array in self._arrays:
            array[target] = array[source]
        self.active[source] = False

    def start(self, slot: int, options: SearchOptions, limit: int) -> None:
        """Start a sentence: one hypothesis, without tokens."""
        self.active[slot] = True
        self.length[slot] = 0
        self.limit[slot] = limit
        self.penalty[slot] = options.length_penalty
        self.n_best[slot] = options.n_best
        self.live[slot] = -np.inf
        self.live[slot, 0] = 0
        self.score[slot] = -np.inf

    # A step

    def advance(self, report: Report) -> tuple[list[int], list[int]]:
        """Record what a step found in the first n slots.

        Returns the slots whose sentences are done, and those whose scores are NaN.
        """
        active = self.active[: len(report.scores)]
        not_finite = active & np.isnan(report.scores).any(axis=1)
        slots = np.flatnonzero(active & ~not_finite)
        report = report.of_slots(slots)
        self.length[slots] += 1
        length, limit = self.length[slots], self.limit[slots]
        capped = length >= limit
        finishes = report.tokens == self.eos_id
        if self.traits.at_limit != "behind":
            finishes = finishes | (capped[:, None] & np.isfinite(report.scores))
        finishes[:, self.beam :] = False
        divisor = self._normalisation(slots, length)
        normalised = np.where(finishes, report.scores / divisor[:, None], np.float32(-np.inf))
        self._finish(slots, normalised, report)

        live = report.survivors()
        ended = live.tokens == self.eos_id
        self.live[slots] = np.where(ended, np.float32(-np.inf), live.scores)
        self.tokens[slots, length - 1] = live.tokens
        self.log_probs[slots, length - 1] = live.log_probs
        self.parents[slots, length - 1] = live.parents
        if self.traits.at_limit == "behind":
            rank = np.arange(1, self.beam + 1, dtype=np.float32)
            usable = capped[:, None] & np.isfinite(self.live[slots])
            behind = np.where(usable, np.float32(BEHIND_FINISHED) * rank, np.float32(-np.inf))
            self._finish(slots, behind, live)
        done = slots[capped | ~self._unsettled(slots, divisor)].tolist()
        failed: list[int] = np.flatnonzero(not_finite).tolist()
        self.score[failed] = -np.inf  # no hypothesis, so the outcome is an error
        return done + self.end_forced(np.setdiff1d(slots, done)), failed

    def end_forced(self, slots: NDArray[np.intp]) -> list[int]:
        """End, at no cost, the sentences whose next token must be the last. Returns their slots.

        The end needs no step, since it is known in advance.
        """
        if not self.traits.forces_end:
            return []
        slots = slots[self.length[slots] + 1 == self.limit[slots]]
        self.length[slots] += 1
        scores = self.live[slots]
        lanes = np.broadcast_to(np.arange(self.beam, dtype=np.int32), scores.shape)
        ends = Report(scores, np.zeros_like(scores), np.full_like(lanes, self.eos_id), lanes, lanes)
        divisor = self._normalisation(slots, self.length[slots])
        self._finish(slots, scores / divisor[:, None], ends)
        ended: list[int] = slots.tolist()
        return ended

    def _normalisation(self, slots: NDArray[np.intp], length: Ints) -> Floats:
        """`SearchOptions.normalisation` of each sentence at a length."""
        offset = self.traits.length_offset
        divisor = ((offset + length) / (offset + 1)) ** self.penalty[slots]
        return divisor.astype(np.float32)

    def _finish(self, slots: NDArray[np.intp], scores: Floats, found: Report) -> None:
        """Keep the best K of the finished hypotheses and of those found, with scores [n, C]."""
        both = np.concatenate((self.score[slots], scores), axis=1)
        order = np.argsort(-both, axis=1, kind="stable")[:, : self.beam]
        self.score[slots] = np.take_along_axis(both, order, 1)
        length = np.broadcast_to(self.length[slots, None], scores.shape)
        for column, new in (
            (self.end_length, length),
            (self.end_parent, found.parents),
            (self.end_token, found.tokens),
            (self.end_log_prob, found.log_probs),
        ):
            merged = np.concatenate((column[slots], new), axis=1)
            column[slots] = np.take_along_axis(merged, order, 1)

    def _unsettled(self, slots: NDArray[np.intp], divisor: Floats) -> NDArray[np.bool_]:
        """`model.decoding.stopping.unsettled`, for each sentence's own n best."""
        score, best = self.score[slots], self.live[slots, 0]
        n_th = score[np.arange(len(slots)), self.n_best[slots] - 1]
        continues: NDArray[np.bool_] = n_th < best / self._normalisation(slots, self.limit[slots])
        match self.traits.stopping:
            case "full":
                continues &= np.isneginf(score[:, -1])
            case "settled at present":
                continues &= score[:, -1] < best / divisor
        return continues

    def hopeful(self, low: int, high: int) -> NDArray[np.bool_]:
        """Return which hypotheses [n, K] of the slots low … high − 1 must be decoded.

        Those that cannot enter the n best need not: their continuations score no better. But under
        other stopping rules they would fill the finished hypotheses or narrow the beam.
        """
        slots = np.arange(low, high)
        live = self.live[low:high]
        alive = self.active[low:high, None] & (live > -np.inf)
        if self.traits.stopping != "settled" or self.traits.narrows:
            return alive
        n_th = self.score[slots, self.n_best[slots] - 1]
        at_limit = live / self._normalisation(slots, self.limit[slots])[:, None]
        return alive & (at_limit > n_th[:, None])

    # The state of a sentence

    def outcome(self, slot: int, options: SearchOptions) -> list[Hypothesis] | NumericalError:
        """Return the outcome of a sentence that is done."""
        n_found = int(np.isfinite(self.score[slot, : options.n_best]).sum())
        rows = (self._ended(slot, rank) for rank in range(n_found))
        return outcome_of_rows(rows, self.eos_id, options, int(self.limit[slot]))

    def agreed(self, slot: int) -> list[int]:
        """Return the stable prefix of a sentence, after its first step.

        It is common to the n best finished hypotheses and the live ones that may still join them.
        """
        slots = np.array([slot])
        n_best = self.n_best[slot]
        length = int(self.length[slot])
        at_limit = self.live[slot] / self._normalisation(slots, self.limit[slots])[0]
        rows = [
            self._row(slot, lane, length)[0]
            for lane in np.flatnonzero(at_limit > self.score[slot, n_best - 1]).tolist()
        ]
        finite = np.flatnonzero(np.isfinite(self.score[slot, :n_best])).tolist()
        rows += [self._ended(slot, rank)[0] for rank in finite]
        return agreed_ids(rows, {self.eos_id})

    def _ended(self, slot: int, rank: int) -> tuple[list[int], list[float]]:
        """The tokens of a finished hypothesis, and their log-probabilities."""
        length, lane = int(self.end_length[slot, rank]), int(self.end_parent[slot, rank])
        ids, log_probs = self._row(slot, lane, length - 1)
        ids.append(int(self.end_token[slot, rank]))
        log_probs.append(float(self.end_log_prob[slot, rank]))
        return ids, log_probs

    def _row(self, slot: int, lane: int, length: int) -> tuple[list[int], list[float]]:
        """The tokens of a hypothesis after `length` steps, and their log-probabilities."""
        parents = self.parents[slot, :length].tolist()
        lanes = [0] * length
        for step in range(length - 1, -1, -1):
            lanes[step] = lane
            lane = parents[step][lane]
        steps = np.arange(length)
        ids: list[int] = self.tokens[slot, steps, lanes].tolist()
        log_probs: list[float] = self.log_probs[slot, steps, lanes].tolist()
        return ids, log_probs
