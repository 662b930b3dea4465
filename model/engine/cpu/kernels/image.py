"""Loads compiled kernels into memory, without numba and LLVM, which take 110 MB.

An image is a file of code and data, linked by `linker` except for addresses: those within
the image depend on where it is in memory, the others are of functions of Python, the C library and
numba's two small libraries. On other systems than Linux on x86-64 there is none, and numba loads
the same kernels from its cache.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import json
import logging
import mmap
import struct
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from model.engine.cpu.kernels.jit import LOADED

_HEAD = struct.Struct("<32sQ")
"""A digest of all that follows, and the size of the index."""

_log = logging.getLogger(__name__)


def write_image(file: Path, index: dict[str, Any], content: bytes) -> None:
    """Write an image, whole or not at all.

    index  of the content:
           `entries`, [kernel, signature, offset of the code that Python calls];
           `internal`, offsets of addresses that count from the start of the content;
           `external`, offsets of the addresses of each symbol;
           `environments`, offsets of pointers that must not be null;
           `read_only`, the size of the first part, code and constants
    """
    text = json.dumps(index).encode()
    rest = struct.pack("<Q", len(text)) + text + content
    partial = file.with_suffix(".partial")
    partial.write_bytes(hashlib.sha256(rest).digest() + rest)
    partial.replace(file)


def load_image(file: Path) -> bool:
    """Make kernels run as the code of an image. False if there is none, or a damaged one."""
    if file in _FILES:
        return True
    try:
        image = file.read_bytes()
    except OSError:
        return False
    if not image:
        return False
    if hashlib.sha256(image[32:]).digest() != image[:32]:
        _log.warning("%s: damaged, not used", file)
        return False
    _, size = _HEAD.unpack_from(image)
    try:
        _link(json.loads(image[_HEAD.size : _HEAD.size + size]), image[_HEAD.size + size :])
    except (AttributeError, ImportError, OSError, KeyError, ValueError) as error:
        _log.warning("%s: cannot be used here: %r", file, error)
        return False
    _FILES.add(file)
    return True


_FILES: set[Path] = set()
"""Those that are loaded."""


def unload_images() -> None:
    """Let numba call all kernels from now on. Code that runs may go on."""
    LOADED.clear()
    _FILES.clear()


def _link(index: dict[str, Any], content: bytes) -> None:
    memory = mmap.mmap(-1, len(content), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:] = content
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    _add(memory, index["internal"], base)
    for symbol, offsets in index["external"].items():
        _add(memory, offsets, _address(symbol))
    _add(memory, index["environments"], id(_ENVIRONMENT))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(base, index["read_only"], mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "code cannot be made executable")
    # Never unmapped: a thread may run in it when the process ends.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
    call = ctypes.PYFUNCTYPE(*[ctypes.py_object] * 4)
    for kernel, signature, offset in index["entries"]:
        LOADED[kernel, tuple(signature)] = call(base + offset)


_ENVIRONMENT = object()
"""Stands for numba's table of a kernel's constants, which `linker` checks to be empty."""


def _add(memory: mmap.mmap, offsets: list[int], address: int) -> None:
    """Add an address to numbers of 64 bits, anywhere in memory."""
    at = np.array(offsets, np.int64)[:, None] + np.arange(8)
    memory_bytes = np.frombuffer(memory, np.uint8)
    numbers = memory_bytes[at].view(np.uint64) + np.uint64(address)
    memory_bytes[at] = numbers.view(np.uint8)


def _address(symbol: str) -> int:
    """Return the address of a function or variable, by the name that numba's code has for it."""
    runtime, helpers = _numba_library("core.runtime._nrt_python"), _numba_library("_helperlib")
    for names, name in (
        (runtime, symbol.removeprefix("NRT_")),
        (helpers, symbol.removeprefix("numba_")),
    ):
        if name in names:
            return int(names[name])
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL(None), symbol))


@cache
def _numba_library(name: str) -> dict[str, int]:
    """Return the functions of one of numba's libraries, without importing numba."""
    name = f"numba.{name}"
    module: Any = sys.modules.get(name)
    if module is None:
        numba = importlib.util.find_spec("numba")
        if numba is None or numba.origin is None:
            raise ImportError(name="numba")
        *folders, stem = name.split(".")[1:]
        [file] = Path(numba.origin).parent.joinpath(*folders).glob(f"{stem}.*.so")
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise ImportError(path=str(file))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if hasattr(module, "memsys_use_cpython_allocator"):
            module.memsys_use_cpython_allocator()
    functions: dict[str, int] = module.c_helpers
    return functions
