"""Compile the kernels and cache them, so that no later start waits for it.

python -m model.engine.compile [--every-target] [PRECISION…]
"""

import hashlib
import logging
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, get_args

import numpy as np

from model.checkpoint.parameters import parameter_shapes
from model.decoding.constraints import Constraint, PieceEdges, Wording
from model.decoding.hypothesis import SearchOptions
from model.engine.compilation import COMPILATION
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.decoder import decode
from model.engine.cpu.forward.output import predict
from model.engine.cpu.forward.slots import make_pages, make_slots
from model.engine.cpu.forward.weights import Precision, Weights, pack
from model.engine.cpu.forward.workspace import make_workspace
from model.engine.cpu.helper_thread import compile_helper
from model.engine.cpu.kernels.cache import CACHE_FOLDER, SHIPPED_FOLDER, sources_digest
from model.engine.cpu.kernels.image import load_image, unload_images
from model.engine.cpu.kernels.linear import NO_FLOOR, project
from model.engine.cpu.kernels.target import ONLY_COMPILES, TARGET, family
from model.engine.cpu.kernels.work_queue import make_work_queue
from model.engine.cpu.search import make_candidates, step
from model.engine.cpu.terms import make_terms
from model.engine.device import usable_cores
from model.engine.explanations import AttentionKind, AttentionRow, LayerRow, StackName
from model.engine.protocol import Job
from model.transformer.config import PRESETS, TransformerConfig

MAX_PROCESSES = 2
"""Each takes 500 MB. The search as a whole is compiled last, by one."""

EXPECTED_BYTES = 5_900_000
"""Compiled code of a precision, approximately: the time that it takes grows with its size."""

LOG_SECONDS = 10
"""Between two lines of the log."""

_log = logging.getLogger(__name__)


def ensure_compiled(precision: Precision) -> None:
    """Compile the kernels unless the cache has them all, so that no request waits for one.

    A kernel is compiled when it is first called, and those for glossaries would be much later.
    """
    mark = _mark(precision)
    if mark is None:
        compile_kernels(precision)
    elif not (mark.exists() or (SHIPPED_FOLDER / mark.name).exists()):
        _compile_in_processes(precision, mark.parent)
        if not mark.exists():  # no process could be started
            compile_kernels(precision)
    load_compiled(precision)


def load_compiled(precision: Precision) -> None:
    """Load what `compile_kernels` has written, if it has; numba is not imported then."""
    mark = _mark(precision)
    if mark and not ONLY_COMPILES:
        load_image(mark if mark.exists() else SHIPPED_FOLDER / mark.name)


def compile_kernels(precision: Precision) -> None:
    """Compile every kernel for the types of its arguments, or load it from the cache.

    Then write an image of them, which also marks them as complete.
    """
    from model.engine.cpu.kernels.linker import called_kernels, link_kernels

    unload_images()
    for one in called_kernels():
        one.dispatcher.called.clear()
    _run_all(*_model(precision))
    if mark := _mark(precision):
        with suppress(OSError):
            link_kernels(mark, called_kernels())


def compile_beside(precision: Precision) -> None:
    """Compile kernels that another process, in `compile_kernels`, needs last."""
    config, weights = _model(precision)
    slots, pages = make_slots(1, config.max_length), make_pages(weights, 1)
    work = make_workspace(weights, 1, make_work_queue(np.zeros(1, np.int64), max_busy=0))
    terms = make_terms(1, config.max_length, PieceEdges.none(config.target_vocab_size))
    candidates = make_candidates(1, 1, config.max_length)
    none = work.no_record
    # Python calls these two, too.
    _compile(predict, weights, 0, slots, work, candidates.next)
    _compile(decode, weights, 0, slots, pages, work, none, none)
    arguments = (weights, 0, slots, pages, work, candidates, terms, 0)
    called: Any = step
    called.dispatcher.get_call_template(_types(*arguments), {})


def _compile(kernel: Any, *arguments: object) -> None:
    kernel.dispatcher.compile(_types(*arguments))


def _types(*arguments: object) -> tuple[object, ...]:
    from numba import typeof

    return tuple(map(typeof, arguments))


def _model(precision: Precision) -> tuple[TransformerConfig, Weights]:
    config = PRESETS["tiny"]
    zeros = {name: np.zeros(s, np.float32) for name, s in parameter_shapes(config).items()}
    return config, pack(config, zeros, precision)


def _run_all(config: TransformerConfig, weights: Weights) -> None:
    """Run every path of the engine once."""
    engine = CpuEngine(config, weights)
    compile_helper(weights)
    # First what Python and kernels call: kernels can use the code that Python can.
    work = make_workspace(weights, 1)
    with _nonsense():
        project(work.x, 1, weights.output, 0, NO_FLOOR, False, work.scratch, work.all_logits)
    pair = (3, config.eos_id), (4, config.eos_id)
    options = SearchOptions(max_target_tokens=2, constraints=(Constraint((Wording((3,)),)),))
    with _nonsense():
        for kind in get_args(AttentionKind):
            engine.explain(*pair, kind)
            engine.project(*pair, AttentionRow(kind, 0, 0))
        for stack in get_args(StackName):
            engine.activations(*pair, LayerRow(stack, 0, 0))
    with _nonsense():
        engine.score([pair], SearchOptions())
    with _nonsense():
        engine.trace(pair[0], options)
    engine.admit([Job(0, (3, 4, config.eos_id), options)])
    with _nonsense():
        while engine.busy:
            engine.step()
    engine.cancel([0])


def _nonsense() -> AbstractContextManager[None]:
    """Ignore errors of an engine whose kernels are compiled and not run."""
    return suppress(Exception) if ONLY_COMPILES else nullcontext()


def _compile_in_processes(precision: Precision, folder: Path) -> None:
    """Compile in other processes, whose memory is free again afterwards, and log how far it is."""
    jobs = ("compile_kernels", "compile_beside")[: min(MAX_PROCESSES, usable_cores())]
    _log.warning(
        "compiling kernels for %s, about a minute on two idle cores; cached in %s",
        TARGET.name if TARGET else "this processor",
        folder,
    )
    with _processes(jobs, precision) as processes:
        since = time.time()
        logged = time.monotonic()
        while processes and processes[0].poll() is None:
            with suppress(subprocess.TimeoutExpired):
                processes[0].wait(1)
            COMPILATION.fraction = min(0.97, _compiled_bytes(folder, since) / EXPECTED_BYTES)
            if time.monotonic() - logged > LOG_SECONDS and (left := COMPILATION.seconds_left):
                logged = time.monotonic()
                percent = 100 * COMPILATION.fraction
                _log.warning("compiling kernels: %.0f %%, about %.0f s left", percent, left)


@contextmanager
def _processes(
    jobs: Sequence[str], precision: Precision
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run functions of this module, each in a process with this one's modules."""
    COMPILATION.start()
    with ExitStack() as stack:
        stack.callback(COMPILATION.end)
        running = []
        for job in jobs:
            code = (
                f"import sys; sys.path[:] = {sys.path!r}; "
                f"from model.engine.compile import run_job; run_job({job!r}, {precision!r})"
            )
            command = [sys.executable, "-c", code]
            try:
                process = subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: S603
            except OSError as error:
                _log.warning("kernels are compiled in this process: %s", error)
                break
            stack.enter_context(process)
            stack.callback(process.terminate)
            running.append(process)
        yield running


def run_job(job: str, precision: Precision) -> None:
    """Run `compile_kernels` or `compile_beside`, until the process that started this one ends."""

    def watch() -> None:
        os.read(sys.stdin.fileno(), 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    logging.disable()
    {"compile_kernels": compile_kernels, "compile_beside": compile_beside}[job](precision)


def _compiled_bytes(folder: Path, since: float) -> int:
    """Return the size of code that was compiled since a time."""
    total = 0
    for file in folder.glob("*/*.nbc"):
        with suppress(OSError):
            status = file.stat()
            if status.st_mtime >= since:
                total += status.st_size
    return total


def _mark(precision: Precision) -> Path | None:
    """Return the file that marks all kernels as cached for these sources, Python and processor."""
    if CACHE_FOLDER is None:
        return None
    key = (sources_digest(Path(__file__)), str(sys.implementation.cache_tag), *_processor())
    digest = hashlib.sha256("\n".join(key).encode()).hexdigest()[:16]
    return CACHE_FOLDER / f"{precision}-{digest}.complete"


def _processor() -> tuple[str, ...]:
    """Return what the code is compiled for."""
    if TARGET:
        return (sys.platform, platform.machine(), TARGET.name)
    from numba.core.registry import cpu_target

    return tuple(map(str, cpu_target.target_context.codegen().magic_tuple()))


def main() -> None:
    """Compile for the named precisions, all by default, and print how long each took.

    With `--every-target`, for each kind of processor that has this one's architecture.
    """
    logging.basicConfig(format="%(message)s")
    named = [one for one in get_args(Precision) if one in sys.argv] or get_args(Precision)
    if "--every-target" in sys.argv:
        for target in family():
            print(target.name, flush=True)
            environment = os.environ | {"KERNEL_TARGET": target.name}
            command = [sys.executable, *sys.orig_argv[1 : -len(sys.argv[1:])], *named]
            subprocess.run(command, env=environment, check=True)  # noqa: S603
        return
    for precision in named:
        start = time.perf_counter()
        ensure_compiled(precision)
        print(f"kernels for {precision}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
