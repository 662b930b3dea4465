"""The exceptions raised below the HTTP layer, as one tree.

    ModelError
    ├── ConfigError        a configuration value or combination is invalid
    ├── CheckpointError    a file of a model is missing, damaged or of another format
    ├── DataError          a corpus file is missing or malformed
    ├── LanguageError      the checkpoint does not support the language
    ├── InputError         a text cannot be read: too long for the model, or not UTF-8
    ├── NumericalError     values are not finite where a probability is expected
    └── TrainingError      a run cannot start, resume or continue (NaN loss, changed recipe)

Every message is one line that names the file or field and what is expected.
"""

import re


def reason(error: BaseException) -> str:
    """Return another library's message in one line, without `[Errno 111]`."""
    line = " ".join(str(error).split()) or type(error).__name__
    return re.sub(r"\[Errno -?\d+\] ", "", line)


class ModelError(Exception):
    """Base of all errors raised by `model`; its message may be shown to users."""


class ConfigError(ModelError):
    """A configuration value or combination is invalid."""


class CheckpointError(ModelError):
    """A file of a model, its vocabulary included, is missing, damaged or of another format."""


_POINTER = b"version https://git-lfs"


def damaged(origin: object, content: bytes, reason: str) -> CheckpointError:
    """Return the error for a file by its first bytes: without Git LFS, a clone has only pointers
    in place of large files."""
    if content.startswith(_POINTER):
        reason = "only a pointer of Git LFS to the file; `git lfs pull` in its folder fetches it"
    return CheckpointError(f"{origin}: {reason}")


class DataError(ModelError):
    """A corpus file is missing or malformed."""


class LanguageError(ModelError):
    """The checkpoint does not support the language."""


class InputError(ModelError):
    """A text cannot be read: too long for the model, or not UTF-8."""


class NumericalError(ModelError):
    """Values are not finite where a probability is expected."""


class TrainingError(ModelError):
    """A run cannot start, resume or continue."""
