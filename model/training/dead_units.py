"""Units of feed-forward networks that are never active, and therefore get no gradient."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from model.transformer.transformer import Transformer

MOSTLY_DEAD = 0.9
"""Share of dead units above which a layer causes a warning."""


class DeadShares(NamedTuple):
    """Shares of dead units, 0 … 1.

    overall      among all units
    worst        in the layer with the largest share
    mostly_dead  layers with more than `MOSTLY_DEAD`, such as `encoder.layers.3`
    """

    overall: float
    worst: float
    mostly_dead: list[str]


class DeadUnits:
    """Watches the feed-forward networks of a model within a `with` block.

    A unit is dead if its activation was not above zero at any real token.
    """

    def __init__(self, model: Transformer) -> None:
        self._real: dict[str, Tensor] = {}
        self._active: dict[str, Tensor] = {}
        self._networks = {
            "encoder": [layer.feed_forward for layer in model.encoder.layers],
            "decoder": [layer.feed_forward for layer in model.decoder.layers],
        }
        self._handles: list[torch.utils.hooks.RemovableHandle] = []

    def __enter__(self) -> Self:
        for side, networks in self._networks.items():
            for index, network in enumerate(networks):
                hook = partial(self._record, f"{side}.layers.{index}", side)
                self._handles.append(network.w_2.register_forward_pre_hook(hook))
        return self

    def __exit__(self, *_: object) -> None:
        while self._handles:
            self._handles.pop().remove()

    def expect(self, source: Tensor, target: Tensor, pad_id: int) -> None:
        """Count the real tokens of the next batch only, source [B, S] and target [B, T]."""
        self._real = {"encoder": source != pad_id, "decoder": target != pad_id}

    def _record(self, name: str, side: str, _: nn.Module, inputs: tuple[Tensor]) -> None:
        real = self._real.get(side)
        [hidden] = inputs
        if real is None or real.shape != hidden.shape[:-1]:  # a step of a search
            return
        active = (hidden > 0).logical_and(real[:, :, None]).flatten(0, 1).any(dim=0)
        self._active[name] = self._active.get(name, torch.zeros_like(active)) | active

    def found(self) -> DeadShares | None:
        """Return the shares, or None if no network was run."""
        if not self._active:
            return None
        n_dead = {name: int((~active).sum()) for name, active in self._active.items()}
        n_units = {name: len(active) for name, active in self._active.items()}
        shares = {name: n_dead[name] / n_units[name] for name in n_units}
        return DeadShares(
            overall=sum(n_dead.values()) / sum(n_units.values()),
            worst=max(shares.values()),
            mostly_dead=[name for name, share in shares.items() if share > MOSTLY_DEAD],
        )
