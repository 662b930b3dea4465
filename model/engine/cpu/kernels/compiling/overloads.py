"""numba's cache of kernels, with one file for each set of types, in the folders of `cache`."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.runtime import rtsys

from model.engine.cpu.kernels.cache import CACHE_FOLDER, SHIPPED_FOLDER, sources_digest
from model.engine.cpu.kernels.compiling.linking import LinkedResult

_log = logging.getLogger(__name__)


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Names the folder of a module's kernels by the module and the digest of its sources."""

    def __init__(self, file: str) -> None:
        self._py_file = file  # numba names it in a warning
        self._digest = sources_digest(Path(file))

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator:  # noqa: ARG003
        return cls(file)

    def get_cache_path(self) -> str:
        return str(Path(CACHE_FOLDER or "", f"{Path(self._py_file).stem}-{self._digest}"))

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return ""


class _Implementation(LinkedResult):
    _locator_classes = (_Locator,)


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    """The files of a kernel: an index, and a file for each set of types and processor."""

    def save(self, key: object, data: object) -> None:
        """Name a file by its key: two processes may add to one index at the same time."""
        number = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big")
        entries = self._load_index() | {key: self._data_name_pattern.format(number=number)}
        self._save_index(entries)
        self._save_data(entries[key], data)


BARE = "no_cpython_wrapper"
"""Numba's option: without the code that unpacks arguments of Python."""


def has_wrapper(result: Any) -> bool:
    """Whether Python can call what was compiled."""
    name = result.fndesc.llvm_cpython_wrapper_name
    return bool(result.library.get_pointer_to_function(name))


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The cache of one kernel. Damaged files and a full disk cost a compilation, no error.

    options  of the compiler; unless these have `BARE`, code without a wrapper is not loaded
    """

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., Any], options: Mapping[str, object]) -> None:
        super().__init__(function)
        self._options = options
        folder, name = Path(self.cache_path), self._impl.filename_base
        digest = self._impl.locator.get_source_stamp()
        self._cache_file = _Files(str(folder), name, digest)
        self._shipped = _Files(str(SHIPPED_FOLDER / folder.name), name, digest)

    def _load_overload(self, signature: Any, context: Any) -> Any:
        key = self._index_key(signature, context.codegen())
        for files in (self._cache_file, self._shipped):
            if (found := files.load(key)) and (result := self._impl.rebuild(context, found)):
                return result
        return None

    def load_overload(self, signature: Any, context: Any) -> Any:
        # Numba's method first registers all that its compiler knows: 0.14 s and 5 MB.
        rtsys.initialize(context)
        try:
            result = self._load_overload(signature, context)
            return result if self._options[BARE] or (result and has_wrapper(result)) else None
        except Exception as error:  # unpickling a damaged file raises anything
            path = self._cache_file._index_path
            _log.warning("%s: cannot be read, compiling anew: %r", path, error)
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        try:
            super().save_overload(signature, result)
        except OSError as error:
            _log.warning("%s: cannot be written: %s", self.cache_path, error)
