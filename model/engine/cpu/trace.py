"""Writes down what the search of one sentence does, from the state that it leaves after each token.

Nothing of the rule of search is repeated here: which beam goes on and which ends is read off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from model.decoding.hypothesis import SearchOptions, finished_hypothesis
from model.decoding.trace import N_LIKELIEST, Beam, Ended, NextToken, SearchStep
from model.engine.cpu.forward.output import make_predictions, predict
from model.engine.cpu.forward.slots import MAX_BEAM, PAGE, Slots
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.forward.workspace import Workspace
from model.transformer.config import TransformerConfig


class Recorder:
    """The steps of the one sentence that an engine has."""

    def __init__(self, config: TransformerConfig, weights: Weights, options: SearchOptions) -> None:
        self.steps: list[SearchStep] = []
        self._config = config
        self._weights = weights
        self._options = options
        self._predictions = make_predictions(MAX_BEAM, N_LIKELIEST, 1)
        self._predictions.n_wanted[:] = N_LIKELIEST
        self._predictions.renormalises[:] = options.traits.renormalises
        if options.traits.unk_id is not None:
            self._predictions.unk_id[:] = options.traits.unk_id
        self._ids: list[tuple[int, ...]] = [()]  # of the beams that the next step begins with
        self._beams: Sequence[tuple[int | None, int | None, float]] = [(None, None, 0.0)]
        if (first := options.first_id) is not None:  # which the engine feeds as the sentence joins
            self.steps = [SearchStep([Beam(None, None, 0.0, [NextToken(first, 0.0)])], [])]
            self._ids, self._beams = [(first,)], [(0, first, 0.0)]

    def step(self, slot: int, slots: Slots, work: Workspace) -> None:
        """To be called when every beam got one more token, and before the slot is given back.

        work.x still has the decoder's output for the beams that were alive.
        """
        beams = self._beams_with_likeliest(work)
        if self._options.traits.forces_end and slots.length[slot] == slots.limit[slot]:
            end = [NextToken(self._config.eos_id, 0.0)]
            beams = [replace(beam, likeliest=end) for beam in beams]
        self.steps.append(SearchStep(beams, self._ended(slot, slots)))
        before = int(slots.length[slot]) - 1
        lane_of = {
            int(slots.page[slot, lane]) * PAGE + before % PAGE: lane
            for lane in range(len(self._ids))
        }
        alive = range(int(slots.n_live[slot]))
        parents = [lane_of[int(slots.path[slot * MAX_BEAM + lane, before])] for lane in alive]
        tokens = [int(slots.latest[slot, lane]) for lane in alive]
        log_probs = [float(slots.live[slot, lane]) for lane in alive]
        self._beams = list(zip(parents, tokens, log_probs, strict=True))
        self._ids = [
            (*self._ids[parent], token) for parent, token in zip(parents, tokens, strict=True)
        ]

    def _beams_with_likeliest(self, work: Workspace) -> list[Beam]:
        n_rows, predictions = len(self._beams), self._predictions
        predict(self._weights.output, n_rows, self._config.pad_id, work, predictions)
        return [
            Beam(
                *beam,
                [
                    NextToken(int(token), float(log_prob))
                    for token, log_prob in zip(
                        predictions.tokens[row], predictions.log_probs[row], strict=True
                    )
                    if np.isfinite(log_prob)
                ],
            )
            for row, beam in enumerate(self._beams)
        ]

    def _ended(self, slot: int, slots: Slots) -> list[Ended]:
        length = int(slots.length[slot])
        ended = []
        for place in range(int(slots.beam[slot])):
            if slots.score[slot, place] == -np.inf or slots.n_tokens[slot, place] != length:
                continue
            ids = slots.tokens[slot, place, :length].tolist()
            found = finished_hypothesis(
                ids,
                slots.log_probs[slot, place, :length].tolist(),
                self._config.eos_id,
                self._options,
                int(slots.limit[slot]),
            )
            ended.append(Ended(self._ids.index(tuple(ids[:-1])), found))
        return ended
