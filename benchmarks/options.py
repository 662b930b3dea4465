"""Options shared by several benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from app.shipped import SHIPPED_CHECKPOINT
from benchmarks.checkpoints import DEFAULT_WORK
from benchmarks.sentences import FIXTURE
from model.engine.protocol import PrecisionChoice
from model.transformer.config import PRESETS

_path = click.Path(path_type=Path)

checkpoint_option = click.option(
    "--checkpoint", type=_path, default=SHIPPED_CHECKPOINT,
    help="Checkpoint folder [default: the shipped one].",
)  # fmt: skip
sentences_option = click.option(
    "--sentences", type=_path, default=FIXTURE,
    help="File to translate, its first column [default: 48 included sentences].",
)  # fmt: skip
threads_option = click.option(
    "--threads", type=click.IntRange(1), default=2, show_default=True, help="Per system."
)
random_option = click.option(
    "--random", "preset", type=click.Choice(list(PRESETS)),
    help="Use random weights of a preset instead of a checkpoint.",
)  # fmt: skip
precision_option = click.option(
    "--precision", type=click.Choice(get_args(PrecisionChoice)), default="auto", show_default=True,
    help="Precision of attend, as in `attend serve`.",
)  # fmt: skip
beam_option = click.option("--beam", type=click.IntRange(1, 8), default=4, show_default=True)
peers_option = click.option(
    "--peers/--no-peers", default=True, show_default=True, help="Compare with peers or not."
)
work_option = click.option(
    "--work", type=_path, default=DEFAULT_WORK,
    help="Folder for converted checkpoints [default: in ~/.cache].",
)  # fmt: skip
json_option = click.option("--json", "json_file", type=_path, help="Write the result to FILE.")
