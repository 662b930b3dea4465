"""Compiles the kernels of an ARM64 machine on this one: under emulation it takes ten times as long.

python deploy/arm64/kernels.py TARGET PRECISION…

TARGET is one of `model.engine.cpu.kernels.target`. LLVM is told that this process ran on ARM64
with Linux before numba makes its compiler; nothing that is compiled is called. Python has the
minor version of that machine's, which numba's files depend on.
"""

import os
import platform
import sys
from typing import Any, cast

import llvmlite.binding as llvm

TRIPLE = "aarch64-unknown-linux-gnu"


def pretend() -> None:
    """Replace what llvmlite and Python say of this machine."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    features = llvm.FeatureMap()  # none beyond the target's
    here: tuple[tuple[object, str, object], ...] = (
        (llvm, "get_process_triple", TRIPLE),
        (llvm, "get_default_triple", TRIPLE),
        (llvm, "get_host_cpu_name", "generic"),
        (llvm, "get_host_cpu_features", features),
        (platform, "machine", "aarch64"),
    )
    for module, name, value in here:
        setattr(module, name, lambda value=value: value)


def main(target: str, *precisions: str) -> None:
    """Compile into the folder that `kernel_folder` names."""
    pretend()
    os.environ["KERNEL_TARGET"] = target
    from model.engine.compile import compile_kernels

    for precision in precisions:
        compile_kernels(cast(Any, precision))


if __name__ == "__main__":
    main(*sys.argv[1:])
