"""Describes what is neither a checkpoint nor a model that attend imports."""

from pathlib import Path

from model.checkpoint.config import CONFIG_FILE, FORMAT
from model.errors import CheckpointError
from model.interop.huggingface.config_files import read_object
from model.interop.huggingface.settings import KINDS
from model.interop.marian_folder import project_of

_SUPPORTED = (
    "attend serves its own checkpoints, and imports Marian and OPUS-MT, M2M-100 and NLLB, "
    "Firefox's, CTranslate2's and Argos Translate's models; `attend pull opus-mt-en-de` fetches one"
)
_CT2 = "convert it with CTranslate2's {}, then `attend import ctranslate2`"

_FILES = (
    ("adapter_config.json", "a LoRA adapter",
     "merge it into its model with peft (merge_and_unload, save_pretrained) and import the result"),
    ("*.gguf", "a GGUF file, which holds a language model", ""),
    ("dict.*.txt", "a fairseq checkpoint", _CT2.format("ct2-fairseq-converter")),
    ("*.pt", "a checkpoint of OpenNMT-py or fairseq",
     _CT2.format("ct2-opennmt-py-converter or ct2-fairseq-converter")),
    ("*.ckpt*", "a TensorFlow checkpoint", _CT2.format("ct2-opennmt-tf-converter")),
    ("*.onnx", "ONNX weights", "fetch the model's model.safetensors or pytorch_model.bin"),
    ("onnx/*.onnx", "ONNX weights", "fetch the model's model.safetensors or pytorch_model.bin"),
    ("*.zip", "an archive", "unpack it"),
    ("*.tar*", "an archive", "unpack it"),
)  # fmt: skip
"""Pattern of a file, what it or its folder is, and the next step."""


def refusal(path: Path) -> str | None:
    """Return why a folder, or a file in its place, cannot be served and what would help, in one
    line; None if it may be a checkpoint, or does not exist."""
    if not path.exists():
        return None
    found, step = _found(path) if path.is_dir() else _file(path)
    return f"{path}: {'; '.join(filter(None, (found, step, _SUPPORTED)))}" if found else None


def _file(path: Path) -> tuple[str, str]:
    """Return what a file is and the next step."""
    for pattern, called, step in _FILES:
        if path.match(pattern):
            return called, step
    return "a file", "give the folder of the model, with its vocabulary and configuration"


def _found(folder: Path) -> tuple[str, str]:
    """Return what a folder is and the next step; nothing if it may be a checkpoint."""
    names = sorted(path.name for path in folder.iterdir())
    if not names:
        return "an empty folder", ""
    try:
        values = read_object(folder / CONFIG_FILE)
    except CheckpointError:
        values = {}
    if values.get("format") == FORMAT:
        return "", ""
    if broken := next((name for name in names if not (folder / name).exists()), None):
        return f"{broken} is a link to a missing file", "copy the file itself (cp -L)"
    for pattern, called, step in _FILES:
        if path := next(iter(sorted(folder.glob(pattern))), None):
            return f"{called} ({path.name})", step
    if not (folder / CONFIG_FILE).exists():
        inside = [*sorted(folder.iterdir()), *sorted(folder.glob("snapshots/*"))]
        inner = [path for path in inside if project_of(path)]
        step = f"there is a model in {inner[0]}" if inner else ""
        return f"no {CONFIG_FILE} and no model of another project (it has {names[0]}, …)", step
    if (kind := values.get("model_type")) is None:
        return "", ""
    called = KINDS.get(str(kind), "another architecture")
    return f"a Hugging Face model of type {kind!r}, {called}", ""
