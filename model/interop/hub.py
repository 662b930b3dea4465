"""Downloads models from the Hugging Face hub into its cache."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from model.errors import CheckpointError
from model.interop.m2m100.languages import LANGUAGE_FILES
from model.interop.marian_config import CONFIG_FILE, GENERATION_FILE, TOKENIZER_FILE
from model.interop.marian_folder import KEPT_FOLDER
from model.interop.weight_files import PICKLE_FILES, SAFE_FILES
from model.text.marian_tokenizer import (
    SOURCE_PIECES_FILE,
    TARGET_PIECES_FILE,
    TARGET_VOCABULARY_FILE,
    VOCABULARY_FILE,
)
from model.text.multilingual_tokenizer import PIECES_FILE as MULTILINGUAL_PIECES_FILE

_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_FILES = (
    CONFIG_FILE, GENERATION_FILE, TOKENIZER_FILE, SOURCE_PIECES_FILE, TARGET_PIECES_FILE,
    VOCABULARY_FILE, TARGET_VOCABULARY_FILE, MULTILINGUAL_PIECES_FILE, *LANGUAGE_FILES,
    f"{KEPT_FOLDER}/*",
)  # fmt: skip


def is_hub_name(source: str) -> bool:
    """Whether it looks like `Helsinki-NLP/opus-mt-en-fr`, and no such local path exists."""
    return _NAME.fullmatch(source) is not None and not Path(source).exists()


def fetch(name: str) -> Path:
    """Return the folder with the files that an import needs. Raises `CheckpointError`."""
    folder = _download(name, [*_FILES, *SAFE_FILES])
    if not any((folder / name).exists() for name in SAFE_FILES[:2]):
        folder = _download(name, [*_FILES, *PICKLE_FILES])
    return folder


def _download(name: str, patterns: Sequence[str]) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import (
            GatedRepoError,
            HfHubHTTPError,
            LocalEntryNotFoundError,
            RepositoryNotFoundError,
        )
    except ImportError:
        raise CheckpointError(
            f"{name}: no such folder; to fetch it from the hub, pip install huggingface_hub"
        ) from None
    try:
        return Path(snapshot_download(name, allow_patterns=list(patterns)))
    except GatedRepoError:
        reason = "access must be requested on its page; then log in with `hf auth login`"
    except RepositoryNotFoundError:
        reason = "no such local folder, and no such model on the hub, or a private one"
    except LocalEntryNotFoundError:
        reason = "no such local folder, and the hub cannot be reached"
    except HfHubHTTPError as error:
        reason = f"the hub responded with {error.response.status_code}"
    except Exception as error:  # it passes on exceptions of three other libraries
        first, *_ = [*str(error).splitlines(), ""]
        reason = f"cannot be fetched from the hub: {type(error).__name__}: {first}"
    raise CheckpointError(f"{name}: {reason}")
