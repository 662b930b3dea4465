"""Builds a runtime from settings: checkpoints, engines, schedulers, services."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app import __version__
from app.errors import SettingsError
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.scheduling.admission import Admission
from app.scheduling.scheduler import Scheduler
from app.settings import Settings
from app.translation.file_service import FileLimits, FileService
from app.translation.limits import Limits
from app.translation.served_model import ServedModel
from app.translation.service import TranslationService
from app.wire.native.answers import Info, ModelInfo
from model.checkpoint.config import CheckpointConfig, read_config
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.engine.build import build_engines
from model.engine.device import pick_device, usable_cores
from model.engine.protocol import Engine


def load_runtime(settings: Settings, metrics: Metrics) -> Runtime:
    """Load the checkpoints onto their device and build the runtime. Blocks.

    Raises `ModelError`, and `SettingsError` if two checkpoints claim a direction.
    """
    n_threads = settings.threads or usable_cores()
    check_directions([(folder, read_config(folder)) for folder in settings.checkpoint])
    device = pick_device(settings.device)
    checkpoints = [load_checkpoint(folder) for folder in settings.checkpoint]
    engines = [
        build_engines(checkpoint, settings.precision, n_threads, settings.max_batch_tokens, device)
        for checkpoint in checkpoints
    ]
    return build_runtime(checkpoints, engines, settings, metrics)


def check_directions(configs: Sequence[tuple[Path, CheckpointConfig]]) -> None:
    """Raise `SettingsError` if two checkpoints, each given with its folder, claim a direction."""
    claimed: dict[tuple[str, str], Path] = {}
    for folder, config in configs:
        for source, target in config.directions:
            direction = source.lower(), target.lower()
            if direction in claimed:
                raise SettingsError(
                    f"'checkpoint': {claimed[direction]} and {folder} "
                    f"both translate {source} to {target}"
                )
            claimed[direction] = folder


def build_runtime(
    checkpoints: Sequence[Checkpoint],
    engines: Sequence[Sequence[Engine]],
    settings: Settings,
    metrics: Metrics,
) -> Runtime:
    """Build the runtime of loaded checkpoints, with engines of one kind for each."""
    schedulers = [
        Scheduler(
            of_one,
            metrics=metrics,
            cache_bytes=settings.sentence_cache_bytes,
            step_timeout=settings.engine_timeout,
            max_queue_tokens=settings.max_queue_tokens,
        )
        for of_one in engines
    ]
    models = [
        ServedModel(checkpoint.config, checkpoint.tokenizer, scheduler, checkpoint.golden)
        for checkpoint, scheduler in zip(checkpoints, schedulers, strict=True)
    ]

    def forecast() -> float:
        return max(scheduler.forecast() for scheduler in schedulers)

    def delay() -> float:
        return max(scheduler.delay() for scheduler in schedulers)

    admission = Admission(settings.max_concurrent_requests, forecast, delay)
    limits = Limits(
        max_texts=settings.max_texts,
        max_text_characters=settings.max_text_characters,
        max_attention_weights=settings.max_attention_weights,
        timeout=settings.request_timeout,
    )
    service = TranslationService(models, admission, limits, metrics)
    files = FileService(
        service.paths,
        FileLimits(
            max_files=settings.max_concurrent_files,
            max_characters=settings.max_file_characters,
            timeout=settings.file_timeout,
        ),
        forecast,
    )
    first, *others = map(_model_info, checkpoints, engines)
    info = Info(
        **dict(first),
        others=others,
        pivoted=service.languages.pivoted,
        version=__version__,
    )
    return Runtime(info, service, files, admission, tuple(schedulers))


def _model_info(checkpoint: Checkpoint, engines: Sequence[Engine]) -> ModelInfo:
    return ModelInfo(
        model=checkpoint.config.name,
        directions=checkpoint.config.directions,
        config=checkpoint.config.transformer.model_dump(mode="json"),
        parameters=checkpoint.n_parameters,
        digest=checkpoint.digest,
        engine=engines[0].info.engine,
        device=engines[0].info.device,
        precision=engines[0].info.precision,
        threads=sum(engine.info.threads for engine in engines),
    )
