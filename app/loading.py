"""Builds a runtime from settings: checkpoints, engines, schedulers, services."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import structlog

from app.concurrency.threads import NICENESS, step_back
from app.errors import SettingsError
from app.languages.served import Direction, described, is_among
from app.memory import give_back, memory_limit
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.scheduling.admission import Admission, CapacityLimiter
from app.scheduling.scheduler import Scheduler
from app.settings import Settings
from app.shelf.shelf import Shelf
from app.shelf.slot import ModelSlot
from app.translation.file_service import FileLimits, FileService
from app.translation.requests import Limits
from app.translation.served_model import Facts, KnownModel, ServedModel
from app.translation.service import TranslationService, prepare
from model.checkpoint.checksums import CHECKSUMS_FILE
from model.checkpoint.config import read_config
from model.checkpoint.parameters import n_parameters
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.checkpoint.shelf_folder import ShelvedCheckpoint, find_checkpoints
from model.engine.build import build_engines, combined_info, expected_info, prepare_kernels
from model.engine.device import pick_devices, usable_cores
from model.engine.memory import expected_bytes
from model.engine.protocol import Engine
from model.text.language_codes import canonical_code

ENGINE_TIMEOUT = 120.0
"""Seconds after which an engine's step counts as hanging."""

MAX_QUEUE_TOKENS = 262_144
"""Waiting source tokens of a model per lane, unless all are of one request."""

TEXT_BYTES = 12
"""Memory of a vocabulary per byte of its files, approximately; equal ones count once."""

VOCABULARIES = (".spm", ".model", "vocab.json")
"""Ends of the names of these files."""

_log = structlog.get_logger()


def load_runtime(
    settings: Settings, metrics: Metrics, checkpoint_of: Callable[[Path], Path] = lambda path: path
) -> Runtime:
    """Load the checkpoints onto their devices and build the runtime. Blocks.

    Models of a folder are loaded on demand: only their configurations are read now. Raises
    `ModelError`, and `SettingsError` if two checkpoints claim a direction or a pinned model does
    not exist.
    """
    _check_directions(settings.checkpoint)
    shelved = _shelved(settings, checkpoint_of)
    builder = ModelBuilder(settings, metrics)
    prepare_kernels(settings.precision, builder.devices)
    checkpoints = [load_checkpoint(folder) for folder in settings.checkpoint]
    known = [
        *(builder.permanent(one, builder.engines(one)) for one in checkpoints),
        *(builder.on_demand(one) for one in shelved),
    ]
    return assemble(known, settings, metrics)


def _check_directions(folders: Sequence[Path]) -> None:
    """Raise `SettingsError` if two checkpoints claim a direction."""
    claimed: dict[Direction, Path] = {}
    for folder in folders:
        own: dict[Direction, Path] = {}
        for source, target in read_config(folder).directions:
            direction = canonical_code(source), canonical_code(target)
            own[direction] = folder
            if direction in claimed:
                raise SettingsError(
                    f"'checkpoint': {claimed[direction]} and {folder} "
                    f"both translate {source} to {target}"
                )
        claimed |= own


def _shelved(settings: Settings, checkpoint_of: Callable[[Path], Path]) -> list[ShelvedCheckpoint]:
    """Return the usable checkpoints of the folder of models. Raises `SettingsError`."""
    if settings.models is None:
        return []
    usable, faults = find_checkpoints(settings.models, checkpoint_of)
    for fault in faults:
        if fault.folder.name in settings.pin:
            raise SettingsError(f"'pin': {fault.folder.name!r} is not usable: {fault.reason}")
        _log.warning("not a model", reason=fault.reason)
    names = {one.config.name for one in usable}
    if unknown := [name for name in settings.pin if name not in names]:
        there = ", ".join(one.folder.name for one in usable) or "none"
        raise SettingsError(
            f"'pin': no model {unknown[0]!r} in {settings.models}; there are: {there}"
        )
    return usable


class ModelBuilder:
    """Builds models with the engines that the settings select."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._n_threads = settings.threads or usable_cores()
        self.devices = pick_devices(settings.device)

    def engines(self, checkpoint: Checkpoint) -> Sequence[Engine]:
        """Build a checkpoint's engines. Blocks. Raises `ConfigError`."""
        precision, n_tokens = self._settings.precision, self._settings.max_batch_tokens
        return build_engines(checkpoint, precision, self._n_threads, n_tokens, self.devices)

    def permanent(self, checkpoint: Checkpoint, engines: Sequence[Engine]) -> KnownModel:
        """Return a model that is loaded already and stays."""
        model = self._served(checkpoint, engines)
        slot = ModelSlot(
            model.name, lambda: model, model.n_bytes, pinned=True, permanent=True, model=model
        )
        return KnownModel(checkpoint.config, slot, model.facts)

    def on_demand(self, found: ShelvedCheckpoint) -> KnownModel:
        """Return a model that is loaded by the first request for it."""
        settings, shape = self._settings, found.config.transformer

        def load() -> ServedModel:
            step_back(NICENESS)
            checkpoint = load_checkpoint(found.folder)
            named = checkpoint.config.model_copy(update={"name": found.config.name})
            checkpoint = replace(checkpoint, config=named)
            return self._served(checkpoint, self.engines(checkpoint))

        info = expected_info(settings.precision, self._n_threads, self.devices)
        sizes = {size for name, size, *_ in found.fingerprint if name.endswith(VOCABULARIES)}
        slot = ModelSlot(
            found.config.name,
            load,
            expected_bytes(shape, settings.precision, self._n_threads, self.devices)
            + TEXT_BYTES * sum(sizes),
            pinned=found.config.name in settings.pin,
        )
        facts = Facts(n_parameters(shape), info)
        return KnownModel(found.config, slot, facts, (found.folder, found.fingerprint))

    def _served(self, checkpoint: Checkpoint, engines: Sequence[Engine]) -> ServedModel:
        if not checkpoint.verified:
            _log.warning(
                "no checksums", folder=str(checkpoint.folder), missing=CHECKSUMS_FILE,
                effect="damage of the weights goes unnoticed",
            )  # fmt: skip
        scheduler = Scheduler(
            engines,
            metrics=self._metrics,
            cache_bytes=self._settings.sentence_cache_bytes,
            step_timeout=ENGINE_TIMEOUT,
            max_queue_tokens=MAX_QUEUE_TOKENS,
            max_batch_tokens=self._settings.max_batch_tokens,
        )
        return ServedModel(
            checkpoint.config,
            checkpoint.tokenizer,
            scheduler,
            checkpoint.golden,
            facts=Facts(checkpoint.n_parameters, combined_info(engines), checkpoint.digest),
            prepare=prepare,
            n_text_bytes=TEXT_BYTES * sum(map(len, set(checkpoint.tokenizer.files.values()))),
            shortlist=checkpoint.shortlist,
        )


def assemble(known: Sequence[KnownModel], settings: Settings, metrics: Metrics) -> Runtime:
    """Connect models, shelf and services. Raises `SettingsError` if no direction is left."""
    chosen = choose_models(known, settings.languages)
    if not chosen:
        raise SettingsError(_nothing_served(settings))
    served = {model for models in set(chosen.values()) for model in models}
    used = [model for model in known if model in served]
    metrics.expect_models(model.name for model in used)
    max_bytes: float = math.inf
    if settings.models is not None:
        max_bytes = settings.model_memory or memory_limit() // 2
    max_idle = settings.model_idle_seconds or math.inf
    shelf = Shelf((model.slot for model in used), max_bytes, max_idle, metrics=metrics)

    def forecast() -> float:
        return max((one.scheduler.forecast() for one in shelf.models), default=0.0)

    def delay() -> float:
        return max((one.scheduler.delay() for one in shelf.models), default=0.0)

    admission = Admission(settings.max_concurrent_requests, forecast, delay)
    limits = Limits(
        max_texts=settings.max_texts,
        max_text_characters=settings.max_text_characters,
        timeout=settings.request_timeout,
    )
    limiter = CapacityLimiter(settings.max_text_characters, forecast, give_back)
    service = TranslationService(chosen, admission, limiter, limits, metrics)
    files = FileService(
        service.paths,
        FileLimits(
            max_characters=settings.max_file_characters,
            timeout=settings.file_timeout,
        ),
        CapacityLimiter(settings.max_file_characters, forecast, give_back),
        forecast,
    )
    return Runtime(tuple(used), shelf, service, files, admission)


def choose_models(
    known: Sequence[KnownModel], languages: tuple[str, ...] | None
) -> Mapping[Direction, tuple[KnownModel, ...]]:
    """Return the models of each direction between `languages`, or between all, the best first.

    If several models translate a direction, a checkpoint that was given by itself is used, else the
    model with the fewest directions, which is the most specialised, else the first; the others, in
    this order, if it cannot be loaded.
    """
    preferred = sorted(known, key=lambda one: (one.key is not None, len(one.directions)))
    claimed: dict[Direction, KnownModel] = {}
    chosen: dict[Direction, KnownModel] = {}
    models: dict[Direction, list[KnownModel]] = {}
    for model in preferred:
        lost: list[Direction] = []
        used: dict[str, None] = {}
        for source, target in model.directions:
            if languages and not (is_among(source, languages) and is_among(target, languages)):
                continue
            first = claimed.setdefault((canonical_code(source), canonical_code(target)), model)
            alike = models.setdefault((source, target), [])
            if first is not model:
                lost.append((source, target))
                used[first.name] = None
            elif not alike:
                chosen[source, target] = model
            alike.append(model)
        if lost:
            _log.warning(
                "two models for one direction",
                unused=model.name, used=list(used), directions=described(lost),
            )  # fmt: skip
    # In the order of the models, in which languages are listed and pivots are chosen.
    return {
        (source, target): tuple(models[source, target])
        for model in known
        for source, target in model.directions
        if chosen.get((source, target)) is model
    }


def _nothing_served(settings: Settings) -> str:
    if settings.languages:
        only = ", ".join(settings.languages)
        return f"'languages': no model translates between two of {only}"
    return (
        f"'models': no model in {settings.models} can be served; "
        "`attend pull opus-mt-en-de DIR` fetches one into it"
    )
