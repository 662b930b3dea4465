"""Marian's options: of the model, in its npz file, and of the search, in decoder.yml.

Model defaults are Marian's. Without decoder.yml, the search is that of most OPUS-MT models.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from model.checkpoint.config import read_file
from model.decoding.hypothesis import MAX_LENGTH_PENALTY
from model.errors import CheckpointError
from model.transformer.config import Activation, Autoregression, NormOrder

DECODER_FILE = "decoder.yml"
MAX_BEAM_SIZE = 8

_ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "swish": "swish", "gelu": "gelu"}
_AUTOREGRESSION: dict[str, Autoregression] = {"self-attention": "self-attention", "rnn": "ssru"}
_EXACT_GELU = (1, 12, 3)
"""The version from which Marian's `gelu` is the exact one; before, it was x σ(1.702 x)."""
# Before, after and on top of the layers: a = add, n = normalise; dropout omitted.
_NORM_ORDERS: dict[tuple[str, str, str], NormOrder] = {
    ("", "an", ""): "post",
    ("n", "a", "n"): "pre",
}


@dataclass(frozen=True)
class ModelOptions:
    """The validated options that define the model, by the names of `TransformerConfig`."""

    d_model: int
    n_heads: int
    n_encoder_layers: int
    n_decoder_layers: int
    d_ff: int
    decoder_d_ff: int
    activation: Activation
    autoregression: Autoregression
    norm_order: NormOrder
    share_embeddings: bool
    tie_output: bool
    vocabularies: tuple[str, ...]


@dataclass(frozen=True)
class SearchSettings:
    """decoder.yml; `models` and `vocabularies` are file names, empty where it says nothing.

    max_length_factor  target tokens at most, times the source's
    allow_unk          whether `<unk>` may be chosen
    """

    beam_size: int = 6
    length_penalty: float = 1.0
    models: tuple[str, ...] = ()
    vocabularies: tuple[str, ...] = ()
    max_length_factor: float = 3.0
    allow_unk: bool = False


def read_yaml(text: bytes, origin: str) -> dict[str, Any]:
    """Parse a mapping of plain values without executing code. Raises `CheckpointError`."""
    try:
        values = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{origin}: not YAML: {reason}") from None
    if not isinstance(values, dict):
        raise CheckpointError(f"{origin}: not a YAML mapping")
    return values


Supported = Callable[[Any], bool]


def _is(*values: Any) -> Supported:
    return lambda value: value in values


def _count(value: Any) -> bool:
    return type(value) is int and value > 0


def _empty(value: Any) -> bool:
    return not value


_BOOLEAN = _is(True, False)

# Option → Marian's default and whether attend supports a value. Options of training, of speed and
# of recurrent models are not listed.
_MODEL: dict[str, tuple[Any, Supported]] = {
    "type": (None, _is("transformer")),
    "dim-emb": (512, lambda value: _count(value) and value % 2 == 0),
    "transformer-heads": (8, _count),
    "enc-depth": (1, _count),
    "dec-depth": (1, _count),
    "transformer-dim-ffn": (2048, _count),
    "transformer-decoder-dim-ffn": (0, lambda value: value == 0 or _count(value)),
    "transformer-ffn-depth": (2, _is(2)),
    "transformer-decoder-ffn-depth": (0, _is(0, 2)),
    "transformer-ffn-activation": ("swish", _is(*_ACTIVATIONS)),
    "transformer-decoder-autoreg": ("self-attention", _is(*_AUTOREGRESSION)),
    "transformer-rnn-projection": (False, _empty),
    "transformer-no-projection": (False, _empty),
    "transformer-no-bias": (False, _empty),
    "transformer-no-affine": (False, _empty),
    "transformer-pool": (False, _empty),
    "transformer-tied-layers": ([], _empty),
    "transformer-train-positions": (False, _empty),
    "transformer-train-position-embeddings": (False, _empty),
    "transformer-disable-position-embeddings": (False, _empty),
    "transformer-postprocess-emb": ("d", _is("d", "")),
    "tied-embeddings": (False, _BOOLEAN),
    "tied-embeddings-src": (False, _BOOLEAN),
    "tied-embeddings-all": (False, _BOOLEAN),
    "lemma-dim-emb": (0, _empty),
    "ulr": (False, _empty),
    "right-left": (False, _empty),
    "input-types": ([], _empty),
}
_SEARCH: dict[str, tuple[Any, Supported]] = {
    "beam-size": (6, lambda value: _count(value) and value <= MAX_BEAM_SIZE),
    "normalize": (
        1.0,
        lambda value: type(value) in (int, float) and 0 <= value <= MAX_LENGTH_PENALTY,
    ),
    "max-length-factor": (3, lambda value: type(value) in (int, float) and 0 < value < math.inf),
    "allow-unk": (False, _BOOLEAN),
    "word-penalty": (0, _is(0)),
    "shortlist": ([], _empty),
    "weights": ([], lambda value: not value or len(value) == 1),
    "models": ([], lambda value: isinstance(value, list) and len(value) <= 1),
    "output-sampling": ([], _empty),
    "output-approx-knn": ([], _empty),
    "force-decode": (False, _empty),
}


def model_options(values: dict[str, Any], origin: str) -> ModelOptions:
    """Check the options of a model. Raises `CheckpointError` listing all unsupported ones."""
    given = {name: values.get(name, default) for name, (default, _) in _MODEL.items()}
    faults = list(_unsupported(given, _MODEL))
    order = tuple(
        str(values.get(f"transformer-{name}", default)).replace("d", "")
        for name, default in (("preprocess", ""), ("postprocess", "dan"), ("postprocess-top", ""))
    )
    if order not in _NORM_ORDERS:
        faults.append(
            "transformer-preprocess, -postprocess and -postprocess-top = "
            + ", ".join(repr(operations) for operations in order)
            + " (without dropout)"
        )
    d_model, n_heads = given["dim-emb"], given["transformer-heads"]
    if _count(d_model) and _count(n_heads) and d_model % n_heads:
        faults.append(f"transformer-heads = {n_heads} with dim-emb = {d_model}")
    if given["transformer-decoder-autoreg"] == "rnn":
        cell = values.get("dec-cell", "gru")
        if cell != "ssru":
            faults.append(f"dec-cell = {cell!r}")
        if values.get("layer-normalization"):
            faults.append("layer-normalization = True in a recurrent decoder")
    if faults:
        raise CheckpointError(f"{origin}: attend cannot run this model: {'; '.join(faults)}")
    all_one = given["tied-embeddings-all"]
    return ModelOptions(
        d_model=d_model,
        n_heads=n_heads,
        n_encoder_layers=given["enc-depth"],
        n_decoder_layers=given["dec-depth"],
        d_ff=given["transformer-dim-ffn"],
        decoder_d_ff=given["transformer-decoder-dim-ffn"] or given["transformer-dim-ffn"],
        autoregression=_AUTOREGRESSION[given["transformer-decoder-autoreg"]],
        activation=_activation(given["transformer-ffn-activation"], values.get("version")),
        norm_order=_NORM_ORDERS[order[0], order[1], order[2]],
        share_embeddings=all_one or given["tied-embeddings-src"],
        tie_output=all_one or given["tied-embeddings"],
        vocabularies=_file_names(values.get("vocabs")),
    )


def _activation(name: str, version: object) -> Activation:
    """Return the activation that Marian used in `version`, such as "v1.12.42 a1b2c3d"."""
    number = re.match(r"v?(\d+)\.(\d+)\.(\d+)", str(version))
    if name == "gelu" and not (number and tuple(map(int, number.groups())) >= _EXACT_GELU):
        return "quick_gelu"
    return _ACTIVATIONS[name]


def read_search(folder: Path) -> SearchSettings:
    """Read decoder.yml, if it exists. Raises as `model_options`."""
    path = folder / DECODER_FILE
    if not path.exists():
        return SearchSettings()
    values = read_yaml(read_file(path), str(path))
    given = {name: values.get(name, default) for name, (default, _) in _SEARCH.items()}
    if faults := list(_unsupported(given, _SEARCH)):
        raise CheckpointError(f"{path}: attend does not support this search: {'; '.join(faults)}")
    return SearchSettings(
        beam_size=given["beam-size"],
        length_penalty=float(given["normalize"]),
        max_length_factor=float(given["max-length-factor"]),
        allow_unk=given["allow-unk"],
        models=_file_names(given["models"]),
        vocabularies=_file_names(values.get("vocabs")),
    )


def _unsupported(given: dict[str, Any], table: dict[str, tuple[Any, Supported]]) -> Iterator[str]:
    for name, (_, supported) in table.items():
        if not supported(given[name]):
            yield f"{name} = {given[name]!r}"


def _file_names(paths: Any) -> tuple[str, ...]:
    """Strip the folders, which are those of the machine where the model was trained."""
    if not isinstance(paths, list):
        return ()
    return tuple(str(path).replace("\\", "/").rpartition("/")[2] for path in paths)
