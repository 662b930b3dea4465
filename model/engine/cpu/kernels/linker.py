"""Links compiled kernels to an image, which `image` loads without LLVM.

LLVM's object files are ELF. Its code for a process of its own refers to everything by addresses of
64 bits, so a linker has one kind of relocation to deal with.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from model.engine.cpu.kernels.compiling.linking import dispatcher_of
from model.engine.cpu.kernels.image import write_image
from model.engine.cpu.kernels.jit import Kernel

PAGE = 4096
_X86_64 = 62
_ABSOLUTE = 1
"""R_X86_64_64: a symbol's address and a constant, in 64 bits."""

_ALLOCATED, _WRITABLE = 2, 1
_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8
_UNDEFINED, _COMMON = 0, 0xFFF2
_UNWINDING = ".eh_frame"


class CannotLinkError(Exception):
    """The code is of another kind than an image can hold."""


class _Section(NamedTuple):
    """A section header of ELF64, with its name."""

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


class _Symbol(NamedTuple):
    """A symbol: in which section, or one of the special numbers, and where there."""

    name: str
    is_local: bool
    section: int
    value: int
    size: int


class _ObjectFile:
    """The parts of an ELF file that a linker needs."""

    def __init__(self, content: bytes) -> None:
        if content[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", content, 18) != (_X86_64,):
            raise CannotLinkError("not for x86-64")
        self.content = content
        (at,) = struct.unpack_from("<Q", content, 40)
        _, count, names = struct.unpack_from("<HHH", content, 58)
        headers = [
            struct.unpack_from("<IIQQQQIIQQ", content, at + 64 * index) for index in range(count)
        ]
        first_name = headers[names][4]
        self.sections = [
            _Section(
                self._text(first_name + name), kind, flags, offset, size, link, info, alignment
            )
            for name, kind, flags, _, offset, size, link, info, alignment, _ in headers
        ]
        table = next(one for one in self.sections if one.kind == _SYMBOLS)
        strings = self.sections[table.link].offset
        self.symbols = [
            _Symbol(self._text(strings + name), info >> 4 == 0, section, value, size)
            for name, info, _, section, value, size in struct.iter_unpack(
                "<IBBHQQ", content[table.offset : table.offset + table.size]
            )
        ]

    def _text(self, at: int) -> str:
        return self.content[at : self.content.index(b"\0", at)].decode()

    def kept(self) -> Iterator[int]:
        """Numbers of the sections that a process has in memory, except those for debuggers."""
        for index, one in enumerate(self.sections):
            if one.flags & _ALLOCATED and one.size and not one.name.startswith(_UNWINDING):
                yield index

    def relocations(self) -> Iterator[tuple[int, int, _Symbol, int]]:
        """Yield the section, offset, symbol and addend of each relocation in the kept sections."""
        kept = set(self.kept())
        for one in self.sections:
            if one.kind == _RELOCATIONS and one.info in kept:
                table = self.content[one.offset : one.offset + one.size]
                for place, info, constant in struct.iter_unpack("<QQq", table):
                    if info & 0xFFFFFFFF != _ABSOLUTE:
                        raise CannotLinkError(f"relocation of type {info & 0xFFFFFFFF}")
                    yield one.info, place, self.symbols[info >> 32], constant


class Linker:
    """Puts the sections of object files one after another and resolves their symbols.

    renamed  symbols that are referred to, and those that they are defined as
    """

    def __init__(self, files: Iterable[bytes], renamed: Mapping[str, str] | None = None) -> None:
        self._renamed = renamed or {}
        self._files = [_ObjectFile(content) for content in files]
        self._content = bytearray()
        self._places: list[dict[int, int]] = [{} for _ in self._files]
        self.symbols: dict[str, int] = {}
        self.internal: list[int] = []
        self.external: dict[str, list[int]] = {}
        self._place(writable=False)
        self._align(PAGE)
        self.read_only = len(self._content)
        self._place(writable=True)
        self._define()
        self._align(PAGE)
        for number, file in enumerate(self._files):
            for section, place, symbol, constant in file.relocations():
                self._relocate(number, self._places[number][section] + place, symbol, constant)

    @property
    def content(self) -> bytes:
        """Code and data, where addresses within the image count from its start."""
        return bytes(self._content)

    def _align(self, alignment: int) -> None:
        self._content += bytes(-len(self._content) % max(1, alignment))

    def _place(self, *, writable: bool) -> None:
        for file, places in zip(self._files, self._places, strict=True):
            for index in file.kept():
                one = file.sections[index]
                if bool(one.flags & _WRITABLE) == writable:
                    self._align(one.alignment)
                    places[index] = len(self._content)
                    data = file.content[one.offset : one.offset + one.size]
                    self._content += bytes(one.size) if one.kind == _NO_BITS else data

    def _define(self) -> None:
        """Define symbols by their first definition: others are copies of an inlined function."""
        for file, places in zip(self._files, self._places, strict=True):
            for one in file.symbols:
                if one.section == _COMMON and one.name not in self.symbols:
                    self._align(one.value)
                    self.symbols[one.name] = len(self._content)
                    self._content += bytes(one.size)
                elif one.section in places and not one.is_local:
                    self.symbols.setdefault(one.name, places[one.section] + one.value)

    def _relocate(self, number: int, at: int, symbol: _Symbol, constant: int) -> None:
        name = self._renamed.get(symbol.name, symbol.name)
        target = self.symbols.get(name) if not symbol.is_local else None
        if target is None and symbol.section in self._places[number]:
            target = self._places[number][symbol.section] + symbol.value
        if target is not None:
            self.internal.append(at)
        elif symbol.section == _UNDEFINED and symbol.name:
            self.external.setdefault(symbol.name, []).append(at)
        else:
            raise CannotLinkError(f"symbol {symbol.name!r} in section {symbol.section}")
        struct.pack_into("<q", self._content, at, (target or 0) + constant)


def link_kernels(file: Path, kernels: Iterable[Kernel]) -> None:
    """Write an image of kernels, for the types with which Python has called them.

    The file is empty where no image can be made, or for kernels that use Python's objects.
    """
    objects = _Objects()
    entries: list[tuple[str, tuple[str, ...], str]] = []
    for kernel in kernels:
        for signature, types in kernel.dispatcher.called.items():
            if not kernel.dispatcher.overloads[types].environment.consts:
                entries.append((kernel.name, signature, objects.add(kernel.dispatcher, types)))
    try:
        linker = Linker(objects.files.values(), objects.renamed)
    except CannotLinkError:
        file.touch()
        return
    environments = [at for name, at in linker.symbols.items() if name.startswith("_ZN08NumbaEnv")]
    index = {
        "entries": [(name, one, linker.symbols[symbol]) for name, one, symbol in entries],
        "internal": linker.internal,
        "external": linker.external,
        "environments": environments,
        "read_only": linker.read_only,
    }
    write_image(file, index, linker.content)


def called_kernels() -> list[Kernel]:
    """Return the engine's kernels that this process has called or compiled."""
    modules = [one for name, one in list(sys.modules.items()) if name.startswith("model.engine.")]
    found = (one for module in modules for one in vars(module).values())
    kernels = {id(one): one for one in found if isinstance(one, Kernel)}
    return [one for one in kernels.values() if "dispatcher" in vars(one)]


class _Objects:
    """Object files of kernels, and of the large kernels that these call.

    renamed  symbols of the code of a kernel that was compiled again, with the one of its new code
    """

    def __init__(self) -> None:
        self.files: dict[int, bytes] = {}
        self.renamed: dict[str, str] = {}

    def add(self, dispatcher: Any, types: Any) -> str:
        """Add a kernel for these types of arguments; return the symbol that Python calls."""
        result = dispatcher.overloads[types]
        description, library = result.fndesc, result.library
        if id(library) not in self.files:
            self.files[id(library)] = _object_file(dispatcher, types, result)
            for symbol, callee in library.calls.items():
                called = dispatcher_of(callee)
                self.add(called, callee.arguments)
                now = called.overloads[callee.arguments].fndesc.llvm_func_name
                if now != symbol:
                    self.renamed[symbol] = now
        return str(description.llvm_cpython_wrapper_name)


def _object_file(dispatcher: Any, types: Any, result: Any) -> bytes:
    """Return the code that was compiled; numba drops it from memory if it comes from the cache.

    Raises `OSError` if another process has compiled the kernel again.
    """
    with suppress(RuntimeError):
        return bytes(result.library._get_compiled_object())
    cache = dispatcher._cache
    key = cache._index_key(types, result.library.codegen)
    for files in (cache._cache_file, cache._shipped):
        if payload := files.load(key):
            defined, *_, [[_, kind, data], *_] = payload
            if result.fndesc.llvm_func_name in defined and kind == "object":
                return bytes(data[0])
    raise OSError(f"{dispatcher.__name__}: the cache has other code now")
