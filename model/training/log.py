"""log.jsonl: the metrics of a run, one JSON object per line, in the order of steps."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from model.errors import DataError

LOG_FILE = "log.jsonl"

Figures = dict[str, float]


@dataclass(frozen=True)
class Log:
    """The content of a run's log.

    updates      step, loss, cross_entropy, learning_rate, tokens (targets so far), seconds,
                 tokens_per_second; loss and cross_entropy are means since the last line
    validations  step; NAME.LANGUAGE.cross_entropy and NAME.LANGUAGE.bleu of each held-out set;
                 written_numbers.LANGUAGE.right; dead_units and dead_units_worst, see `DeadShares`
    """

    updates: list[Figures] = field(default_factory=list)
    validations: list[Figures] = field(default_factory=list)


def write_figures(log: IO[str], figures: Mapping[str, float]) -> None:
    """Append one line."""
    log.write(json.dumps(dict(figures)) + "\n")


def read_log(path: Path) -> Log:
    """Read a log. Raises `DataError` with file and line."""
    log = Log()
    for number, line in enumerate(_lines(path), start=1):
        figures = _figures(line)
        if figures is None:
            raise DataError(f"{path}:{number}: not a line of a training log")
        (log.updates if "tokens" in figures else log.validations).append(figures)
    return log


def cut_log(path: Path, last_step: int) -> None:
    """Remove all lines after `last_step`, and a line that a crash left incomplete.

    A crashed run has logged steps after its last saved state; when resumed, it repeats them.
    """
    if not path.exists():
        return
    lines = _lines(path)
    kept = [line for line in lines if (figures := _figures(line)) and figures["step"] <= last_step]
    if len(kept) == len(lines):
        return
    partial = path.with_suffix(".partial")
    partial.write_text("".join(kept), encoding="utf-8")
    partial.replace(path)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not a training log") from None


def _figures(line: str) -> Figures | None:
    if not line.endswith("\n"):
        return None
    try:
        values = json.loads(line)
    except ValueError:
        return None
    return values if isinstance(values, dict) and "step" in values else None
