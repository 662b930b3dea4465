from collections.abc import Sequence

from app.loading import ModelBuilder, assemble
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.settings import Settings
from model.checkpoint.reader import Checkpoint
from model.engine.protocol import Engine


def build_runtime(
    checkpoints: Sequence[Checkpoint],
    engines: Sequence[Engine],
    settings: Settings,
    metrics: Metrics,
) -> Runtime:
    """The runtime of loaded checkpoints, with the given engine for each."""
    builder = ModelBuilder(settings, metrics)
    known = [
        builder.permanent(one, [engine]) for one, engine in zip(checkpoints, engines, strict=True)
    ]
    return assemble(known, settings, metrics)
