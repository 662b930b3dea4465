"""The kind of processor that kernels are compiled for: the best of a few that this one contains.

Code for exactly this processor is no faster, and could be shared with few others: numba's default
is the name and all features that LLVM knows of the host.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import NamedTuple


class Target(NamedTuple):
    """A kind of processor: LLVM's name of one, and the features that code may use beyond it.

    A processor is of this kind if it has all of `features`, those of `cpu` included.
    """

    name: str
    cpu: str
    features: tuple[str, ...]

    @property
    def options(self) -> str:
        """The features in LLVM's notation."""
        # For LLVM x86-64-v4 is a processor of 2017 that slows down with vectors of 512 bits.
        wide = ["-prefer-256-bit"] if self.cpu == "x86-64-v4" else []
        return ",".join([f"+{feature}" for feature in self.features] + wide)


_V3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_DOTPROD = ("neon", "crc", "lse", "rdm", "dotprod")

TARGETS = (
    Target("x86-64-v4-vnni", "x86-64-v4", (*_V4, "avx512vnni")),
    Target("x86-64-v4", "x86-64-v4", _V4),
    Target("x86-64-v3-vnni", "x86-64-v3", (*_V3, "avxvnni")),
    Target("x86-64-v3", "x86-64-v3", _V3),
    Target("armv8.2-a-i8mm", "generic", (*_DOTPROD, "i8mm")),
    Target("armv8.2-a-dotprod", "generic", _DOTPROD),
)
"""The best first. On another processor, kernels are compiled for exactly this."""


def family() -> list[Target]:
    """Return the targets that have this machine's architecture."""
    prefix = "arm" if platform.machine().lower() in ("aarch64", "arm64") else "x86-64"
    return [one for one in TARGETS if one.name.startswith(prefix)]


_SUM_OF_PRODUCTS = """
declare i32 @llvm.vector.reduce.add.v16i32(<16 x i32>)
define i32 @f(<16 x i8> %x, <16 x i8> %y) {{
    %a = {} <16 x i8> %x to <16 x i32>
    %b = sext <16 x i8> %y to <16 x i32>
    %products = mul <16 x i32> %a, %b
    %sum = call i32 @llvm.vector.reduce.add.v16i32(<16 x i32> %products)
    ret i32 %sum
}}
"""

_ARM_PRODUCTS = (("sext", "sdot", ("rdm", "dotprod")), ("zext", "usdot", ("i8mm",)))
"""How LLVM extends a factor, what it makes of the sum, and the features that this proves."""


def features_of(triple: str, cpu: str, features: str) -> set[str]:
    """Return the features of a target of LLVM, whose own list is such as `+avx2,-avx512bw`.

    On ARM64 LLVM's list of the host's features lacks those of products of bytes, which it knows by
    the processor's name; hence it is asked to compile what they would compute.
    """
    present = {one[1:] for one in features.split(",") if one.startswith("+")}
    if triple.startswith(("aarch64", "arm64")):
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_triple(triple).create_target_machine(cpu, features)
        for extend, mnemonic, implied in _ARM_PRODUCTS:
            code = llvm.parse_assembly(_SUM_OF_PRODUCTS.format(extend))
            if f"\t{mnemonic}\t" in machine.emit_assembly(code):
                present.update(implied)
    return present


_CPUINFO = Path("/proc/cpuinfo")
_LINUX_NAMES = {"abm": "lzcnt", "bmi1": "bmi", "avx512_vnni": "avx512vnni", "avx_vnni": "avxvnni"}
"""Linux's names of features that LLVM calls otherwise."""


def host_features() -> set[str]:
    """Return the features of this processor that kinds differ in, by LLVM's names.

    On x86-64, Linux lists them, so that LLVM's library need not be loaded for this.
    """
    if platform.machine() == "x86_64" and _CPUINFO.exists():
        flags = re.search(r"^flags\s*:(.*)$", _CPUINFO.read_text("utf-8"), re.M)
        if flags:
            return {_LINUX_NAMES.get(flag, flag) for flag in flags[1].split()}
    import llvmlite.binding as llvm

    host = ",".join(f"+{name}" for name, has in llvm.get_host_cpu_features().items() if has)
    return features_of(llvm.get_default_triple(), llvm.get_host_cpu_name(), host)


def _chosen() -> Target | None:
    """Return the target that `KERNEL_TARGET` names, else the best for this processor.

    None if there is none, if the variables of numba choose, and if this program has used numba's
    compiler before. Raises `ValueError`.
    """
    registry = sys.modules.get("numba.core.registry")
    has_compiler = registry and "_toplevel_target_context" in vars(registry.cpu_target)
    if has_compiler or not {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"}.isdisjoint(os.environ):
        return None
    if name := os.environ.get("KERNEL_TARGET"):
        if found := [one for one in TARGETS if one.name == name]:
            return found[0]
        names = ", ".join(one.name for one in TARGETS)
        raise ValueError(f"KERNEL_TARGET: {name!r} is none of {names}")
    return next(filter(runs_here, family()), None)


def runs_here(target: Target) -> bool:
    """Whether this processor is of that kind."""
    return host_features().issuperset(target.features)


TARGET = _chosen()
"""`compiling.llvm` makes numba compile for it."""

ONLY_COMPILES = TARGET is not None and not runs_here(TARGET)
"""Kernels are compiled for another processor than this: calls of them do nothing and return 1."""
