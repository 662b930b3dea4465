"""Converts folders of Marian, OPUS-MT, Firefox, M2M-100, NLLB to checkpoints (docs/interop.md)."""

import zipfile
from pathlib import Path

from model.checkpoint.config import (
    CARD_FILE,
    CONFIG_FILE,
    TRAINING_FILE,
    CheckpointConfig,
    MarianVocabulary,
    MultilingualVocabulary,
    read_config,
    read_file,
)
from model.checkpoint.golden import read_golden
from model.checkpoint.reader import read_tokenizer
from model.checkpoint.writer import check_new_folder, save_checkpoint
from model.errors import CheckpointError
from model.interop.argos_reader import read_argos, unpacked
from model.interop.ctranslate2_reader import read_ctranslate2
from model.interop.firefox_reader import read_firefox
from model.interop.foreign_model import ForeignModel
from model.interop.huggingface.config_files import read_object
from model.interop.huggingface.settings import VERBS
from model.interop.huggingface_reader import read_huggingface, read_weights
from model.interop.languages import NOT_GIVEN, Languages
from model.interop.m2m100_reader import read_m2m100
from model.interop.marian_folder import (
    ARGOS_METADATA_FILE,
    CTRANSLATE2_FILE,
    KEPT_FOLDER,
    contains_npz,
    model_name,
    project_of,
)
from model.interop.npz_reader import read_npz_folder
from model.interop.position_layout import to_interleaved
from model.interop.unsupported_folder import refusal
from model.text.marian_tokenizer import VOCABULARY_FILE, MarianTokenizer

USES_SHORTLIST = True
"""Whether searches use an imported shortlist unless a request says otherwise."""

_CARD = """# {name}

A {project} model, imported by attend from {origin}. For its licence, training
data and credits, see its publisher.
"""


_PROJECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "marian": ("a Marian model", (CONFIG_FILE, "*.npz", f"{KEPT_FOLDER}/{CONFIG_FILE}")),
    "m2m100": ("an M2M-100 or NLLB model", (CONFIG_FILE,)),
    "firefox": ("a model of Firefox's", ("model.*.bin*",)),
    "ctranslate2": ("a CTranslate2 folder", (CTRANSLATE2_FILE,)),
    "argos": ("a package of Argos Translate", (ARGOS_METADATA_FILE,)),
}
"""Verb → what it imports, and patterns of files of which a folder has one."""


def import_marian(
    folder: Path, destination: Path, name: str | None = None, languages: Languages = NOT_GIVEN
) -> CheckpointConfig:
    """Write a checkpoint to `destination`, atomically. `name` defaults to the folder's.

    Raises `CheckpointError` if anything in the folder is missing, damaged or unsupported.
    """
    _check_folder(folder, "marian")
    check_new_folder(destination)
    if (folder / KEPT_FOLDER / CONFIG_FILE).exists():
        if languages.sources or languages.targets:
            raise CheckpointError(f"{folder}: exported by attend, so its languages are fixed")
        return _restore(folder, destination, name)
    is_npz = contains_npz(folder) and not (folder / CONFIG_FILE).exists()
    read = read_npz_folder if is_npz else read_huggingface
    return _write(read(folder, languages), folder, destination, name)


def import_m2m100(
    folder: Path, destination: Path, name: str | None = None, languages: Languages = NOT_GIVEN
) -> CheckpointConfig:
    """Import M2M-100 or NLLB in Hugging Face format; see `import_marian`."""
    _check_folder(folder, "m2m100")
    check_new_folder(destination)
    return _write(read_m2m100(folder, languages), folder, destination, name)


def import_firefox(
    folder: Path, destination: Path, name: str | None = None, languages: Languages = NOT_GIVEN
) -> CheckpointConfig:
    """Import a model of Firefox's in Marian's binary format; see `import_marian`."""
    _check_folder(folder, "firefox")
    check_new_folder(destination)
    return _write(read_firefox(folder, languages), folder, destination, name)


def import_ctranslate2(
    folder: Path, destination: Path, name: str | None = None, languages: Languages = NOT_GIVEN
) -> CheckpointConfig:
    """Import a CTranslate2 folder; see `import_marian`."""
    _check_folder(folder, "ctranslate2")
    check_new_folder(destination)
    return _write(read_ctranslate2(folder, languages, name=name), folder, destination, name)


def import_argos(
    package: Path, destination: Path, name: str | None = None, languages: Languages = NOT_GIVEN
) -> CheckpointConfig:
    """Import a package of Argos Translate, unpacked or not; see `import_marian`."""
    if not zipfile.is_zipfile(package):  # of any name
        _check_folder(package, "argos")
    check_new_folder(destination)
    with unpacked(package) as folder:
        return _write(read_argos(folder, languages), package, destination, name or package.stem)


def _check_folder(source: Path, verb: str) -> None:
    """Raise `CheckpointError` if the source is something else than the verb imports."""
    expected, needed = _PROJECTS[verb]
    if not source.exists():
        raise CheckpointError(f"{source}: no such folder; expected {expected}")
    found = project_of(source)
    has_files = any(any(source.glob(pattern)) for pattern in needed)
    if has_files and found and verb in VERBS.values():  # any project's folder has config.json
        has_files = found in VERBS.values()
    if found != verb and not has_files:
        step = f"{source}: not {expected}; use `attend import {found}`"
        reason = step if found else refusal(source)
        raise CheckpointError(reason or f"{source}: not {expected}")


def _write(
    read: ForeignModel, folder: Path, destination: Path, name: str | None
) -> CheckpointConfig:
    tokenizer, marian, multilingual = read.tokenizer, None, None
    if isinstance(tokenizer, MarianTokenizer):
        marian = MarianVocabulary(
            separate=tokenizer.separate,
            target_symbols=tokenizer.target_symbols,
            ends=tokenizer.ends,
            moses=tokenizer.moses,
        )
    else:
        multilingual = MultilingualVocabulary(
            listed=VOCABULARY_FILE in tokenizer.files,
            languages=dict(tokenizer.languages.tokens),
            behind=tokenizer.languages.behind,
        )
    config = CheckpointConfig(
        name=name or model_name(folder),
        directions=read.directions,
        beam_size=read.beam_size,
        length_penalty=read.length_penalty,
        search_rule=read.rule,
        logits_processors=read.processors,
        transformer=read.shape,
        marian_vocabulary=marian,
        multilingual_vocabulary=multilingual,
        alignment=read.alignment,
        shortlist=None if read.shortlist is None else USES_SHORTLIST,
    )
    card = _CARD.format(name=config.name, project=read.project, origin=read.origin)
    training = {"imported_from": f"{read.project}, {read.origin}"}
    save_checkpoint(
        destination, config, read.weights, tokenizer, card, training, shortlist=read.shortlist
    )
    return config


def _restore(folder: Path, destination: Path, name: str | None) -> CheckpointConfig:
    """Restore a checkpoint that attend exported, optionally under another name."""
    kept = folder / KEPT_FOLDER
    config = read_config(kept)
    if name:
        config = config.model_copy(update={"name": name})
    shape = config.transformer
    _, weights = read_weights(
        folder, lambda _: shape, tie=shape.tie_output, share=shape.share_embeddings
    )
    if shape.position_layout == "interleaved":
        weights = to_interleaved(weights, shape.d_model)
    tokenizer = read_tokenizer(folder if config.marian_vocabulary else kept, config)
    card = read_file(kept / CARD_FILE).decode("utf-8", errors="replace")
    training = read_object(kept / TRAINING_FILE)
    golden = read_golden(kept, config.directions)
    save_checkpoint(destination, config, weights, tokenizer, card, training, golden)
    return config
