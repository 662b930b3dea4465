"""Plots the curves of a training run: cross-entropy and BLEU over target tokens.

Needs matplotlib, which only the extra `[plot]` installs; import this module lazily.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator, NullLocator, ScalarFormatter

from model.errors import DataError, reason
from model.training.log import Figures, Log

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's colours, safe for colour-blind readers: one per held-out set."""

_STYLES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (6, 1, 1, 1)))
"""One per target language."""

_LABEL_GAP = 0.065
"""Minimum distance of two labels, as a fraction of the axis height."""


_MOST_MARKED = 30
"""Maximum points of a curve for markers to be drawn."""

_LOG_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12)


@dataclass(frozen=True)
class _Curve:
    """One line of the plot; its label, with the last value, is at its right end."""

    label: str
    tokens: Sequence[float]
    values: Sequence[float]
    colour: str = "#555555"
    style: object = "-"
    width: float = 1.6


def draw_log(log: Log, title: str, destination: Path) -> None:
    """Write a .png, .svg or .pdf, by the file extension. Raises `DataError`."""
    if not log.updates:
        raise DataError("nothing to plot: the log has no updates yet")
    figure = Figure(figsize=(9, 7.5), layout="constrained")
    validated = list(_validation_curves(log, "bleu"))
    axes = figure.subplots(2 if validated else 1, 1, sharex=True, squeeze=False)[:, 0]
    tokens = [line["tokens"] for line in log.updates]
    losses = [
        _Curve(label, tokens, [line[key] for line in log.updates], colour, width=1.0)
        for key, label, colour in (
            ("loss", "training, smoothed", "#aaaaaa"),
            ("cross_entropy", "training", "#555555"),
        )
    ]
    axes[0].set_yscale("log")
    _draw(axes[0], [*losses, *_validation_curves(log, "cross_entropy")], "{:.2f}")
    axes[0].set_title(f"{title}: {log.updates[-1]['step']:,.0f} updates", loc="left", weight="bold")
    axes[0].set_ylabel("cross-entropy, nats per token (log scale)")
    if validated:
        _draw(axes[1], validated, "{:.1f}")
        axes[1].set_ylabel("BLEU on held-out pairs, greedy")
    axes[-1].set_xlabel("target tokens trained on")
    axes[-1].xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes[-1].set_xlim(left=0)
    try:
        figure.savefig(destination, dpi=150)
    except (OSError, ValueError) as error:
        raise DataError(f"{destination}: {reason(error)}") from None


def _validation_curves(log: Log, measure: str) -> Iterator[_Curve]:
    """Yield a curve per held-out set and direction; names in the log are SET.LANGUAGE.MEASURE."""
    names = dict.fromkeys(
        name for line in log.validations for name in line if name.endswith(f".{measure}")
    )
    keys = [tuple(name.rsplit(".", 2)[:2]) for name in names]
    sets = list(dict.fromkeys(held_out for held_out, _ in keys))
    languages = list(dict.fromkeys(language for _, language in keys))
    for name, (held_out, language) in zip(names, keys, strict=True):
        lines = [line for line in log.validations if name in line]
        yield _Curve(
            f"{held_out} → {language}",
            _tokens_at(log.updates, [line["step"] for line in lines]),
            [line[name] for line in lines],
            _COLOURS[sets.index(held_out) % len(_COLOURS)],
            _STYLES[languages.index(language) % len(_STYLES)],
        )


def _tokens_at(updates: list[Figures], steps: list[float]) -> list[float]:
    """Interpolate tokens from the updates; validations are logged by step only."""
    known_steps = [line["step"] for line in updates]
    return list(np.interp(steps, known_steps, [line["tokens"] for line in updates]))


def _draw(axis: Axes, curves: list[_Curve], value_format: str) -> None:
    for curve in curves:
        axis.plot(
            curve.tokens, curve.values,
            color=curve.colour, linestyle=curve.style, linewidth=curve.width,
            marker="o" if len(curve.values) <= _MOST_MARKED else None, markersize=3,
        )  # fmt: skip
    axis.grid(color="#e6e6e6", linewidth=0.7)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    low, high = axis.get_ylim()
    if axis.get_yscale() == "log":
        axis.set_yticks([tick for tick in _LOG_TICKS if low <= tick <= high])
        axis.yaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter(ScalarFormatter())
    else:
        axis.set_ylim(bottom=0)
        axis.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    to_axes = axis.transData + axis.transAxes.inverted()
    ends = [float(to_axes.transform((0, curve.values[-1]))[1]) for curve in curves]
    for curve, height in zip(curves, _spread(ends), strict=True):
        axis.annotate(
            f"{curve.label}  {value_format.format(curve.values[-1])}", (1.01, height),
            xycoords="axes fraction", va="center", color=curve.colour, fontsize=9,
        )  # fmt: skip


def _spread(heights: list[float]) -> list[float]:
    """Move heights apart to `_LABEL_GAP`, keeping their order and centre."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    spread = list(heights)
    for lower, upper in pairwise(order):
        spread[upper] = max(heights[upper], spread[lower] + _LABEL_GAP)
    return spread
