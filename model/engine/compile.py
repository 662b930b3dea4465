"""Compile the kernels and cache them, so that no later start waits for it.

python -m model.engine.compile
"""

import hashlib
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import get_args

import numpy as np
from numba.core.registry import cpu_target

from model.checkpoint.parameters import parameter_shapes
from model.decoding.constraints import Constraint, Wording
from model.decoding.hypothesis import SearchOptions
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.weights import Precision, pack
from model.engine.cpu.helper_thread import compile_helper
from model.engine.cpu.kernels.cache import CACHE_FOLDER, compiling_alone, sources_digest
from model.engine.explanations import AttentionKind, AttentionRow
from model.engine.protocol import Job
from model.transformer.config import PRESETS


def compile_kernels(precision: Precision) -> None:
    """Compile every kernel for the types of its arguments, or load it from the cache."""
    with compiling_alone():
        _run_all(precision)
        if mark := _mark(precision):
            with suppress(OSError):
                mark.touch()


def _run_all(precision: Precision) -> None:
    """Run every path of the engine once."""
    config = PRESETS["tiny"]
    zeros = {name: np.zeros(s, np.float32) for name, s in parameter_shapes(config).items()}
    weights = pack(config, zeros, precision)
    engine = CpuEngine(config, weights)
    compile_helper(weights)
    for constraints in ((), (Constraint((Wording((3,)),)),)):
        options = SearchOptions(max_target_tokens=2, constraints=constraints)
        engine.admit([Job(0, (3, 4, config.eos_id), options)])
        while engine.busy:
            engine.step()
        engine.trace((3, config.eos_id), options)
    for kind in get_args(AttentionKind):
        engine.explain((3, config.eos_id), (4, config.eos_id), kind)
        engine.project((3, config.eos_id), (4, config.eos_id), AttentionRow(kind, 0, 0))
    engine.score([((3, config.eos_id), (4, config.eos_id))], SearchOptions())


def ensure_compiled(precision: Precision) -> None:
    """Compile the kernels unless the cache has them all, so that no request waits for one.

    A kernel is compiled when it is first called, and those for glossaries would be much later.
    """
    mark = _mark(precision)
    if mark is None or not mark.exists():
        compile_kernels(precision)


def _mark(precision: Precision) -> Path | None:
    """Return the file that marks all kernels as cached for these sources, Python and processor."""
    if CACHE_FOLDER is None:
        return None
    processor = cpu_target.target_context.codegen().magic_tuple()
    key = (sources_digest(Path(__file__)), str(sys.implementation.cache_tag), *map(str, processor))
    digest = hashlib.sha256("\n".join(key).encode()).hexdigest()[:16]
    return CACHE_FOLDER / f"{precision}-{digest}.complete"


def main() -> None:
    """Compile for both precisions and print how long each took."""
    for precision in get_args(Precision):
        start = time.perf_counter()
        compile_kernels(precision)
        print(f"kernels for {precision}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
