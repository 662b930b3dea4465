from itertools import pairwise
from pathlib import Path

import pytest

from app.cli.display.training_plot import _spread, _tokens_at, draw_log
from model.errors import DataError
from model.training.log import Figures, Log


def update(step: int) -> Figures:
    return {
        "step": step,
        "tokens": 90.0 * step,
        "loss": 9 - step / 99,
        "cross_entropy": 8 - step / 99,
    }


UPDATES = [update(step) for step in (50, 100, 150)]


@pytest.mark.parametrize(
    "validations",
    [
        [],
        [{"step": 100.0, "dev.fr.cross_entropy": 3.0}],
        [
            {"step": step, "my.dev.fr.cross_entropy": 5.0, "my.dev.fr.bleu": 1.0, "x.en.bleu": step}
            for step in (40.0, 100.0)
        ],
    ],
)
def test_a_log_becomes_a_picture(tmp_path: Path, validations: list[Figures]) -> None:
    path = tmp_path / "log.svg"
    draw_log(Log(UPDATES, validations), "run", path)
    assert path.read_text().rstrip().endswith("</svg>")


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing to plot"):
        draw_log(Log(), "run", tmp_path / "a.png")


@pytest.mark.parametrize(("name", "reason"), [("a.xyz", "xyz"), ("no/a.png", "No such file")])
def test_a_file_that_cannot_be_written(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        draw_log(Log(UPDATES), "run", tmp_path / name)


def test_validations_lie_between_the_updates_around_them() -> None:
    assert _tokens_at(UPDATES, [50, 75, 150, 170]) == [4500, 6750, 13_500, 13_500]


def test_labels_are_moved_apart_in_their_order() -> None:
    spread = _spread([0.5, 0.1, 0.5, 0.51])
    assert spread[1] == 0.1
    ordered = [spread[index] for index in (1, 0, 2, 3)]
    assert all(b - a > 0.06 for a, b in pairwise(ordered))
