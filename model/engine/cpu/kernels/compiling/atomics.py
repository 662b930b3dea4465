"""Words in memory that two threads share, and how a thread waits. For kernels only."""

from __future__ import annotations

import platform
import sys
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from model.engine.cpu.kernels.compiling.llvm import data, declare


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing_context: Any, address: Any) -> Any:
    """An address as a pointer for `numba.carray`."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        return b.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def read_word(typing_context: Any, words: Any, at: Any) -> Any:
    """words[at]; later reads are not moved before it."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        return b.load_atomic(data(context, b, signature, arguments, 0), "seq_cst", 8)

    return types.int64(words, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def write_word(typing_context: Any, words: Any, at: Any, value: Any) -> Any:
    """words[at] = value, after all earlier writes."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        b.store_atomic(arguments[2], data(context, b, signature, arguments, 0), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_word(typing_context: Any, words: Any, at: Any, value: Any) -> Any:
    """words[at] += value; returns the former value."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        word = data(context, b, signature, arguments, 0)
        return b.atomic_rmw("add", word, arguments[2], "seq_cst")

    return types.int64(words, types.int64, types.int64), generate


_PAUSE = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}


@intrinsic  # type: ignore[untyped-decorator]
def pause(typing_context: Any) -> Any:
    """Leave the units of this core to its other thread, for some cycles."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        if name := _PAUSE.get(platform.machine()):
            b.call(declare(b.module, ir.FunctionType(ir.VoidType(), []), name), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic  # type: ignore[untyped-decorator]
def yield_processor(typing_context: Any) -> Any:
    """Let another thread run that waits for this core."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        if sys.platform != "win32":
            kind = ir.FunctionType(ir.IntType(32), [])
            b.call(declare(b.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate
