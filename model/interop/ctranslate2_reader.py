"""Reads a CTranslate2 folder: model.bin, config.json, vocabularies, and SentencePiece models."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.checkpoint.config import AnyPair, Direction, read_file
from model.decoding.processors import LogitsProcessors
from model.decoding.rules import HuggingFaceRule
from model.errors import CheckpointError
from model.interop.ctranslate2.binary_format import Variables, read_binary
from model.interop.ctranslate2.network import network_shape, starts_with_zeros
from model.interop.ctranslate2.vocabulary import find_piece_files, read_vocabularies
from model.interop.ctranslate2.weights import read_weights
from model.interop.foreign_model import ForeignModel, check_tensors
from model.interop.huggingface.config_files import CONFIG_FILE, TOKENIZER_FILE, read_object
from model.interop.languages import Languages, directions, select_pairs
from model.interop.m2m100.fast_tokenizer import FAST_TOKENIZER_FILE
from model.interop.m2m100.languages import codes_of_tokens
from model.interop.m2m100_reader import read_pieces
from model.interop.marian_folder import CTRANSLATE2_FILE, model_name
from model.text.language_codes import standard_code
from model.text.marian_tokenizer import (
    BOS,
    EOS,
    PAD,
    SOURCE_PIECES_FILE,
    TARGET_PIECES_FILE,
    TARGET_VOCABULARY_FILE,
    UNK,
    VOCABULARY_FILE,
    MarianTokenizer,
    SequenceEnds,
    symbols,
)
from model.text.moses_pieces import BPE_FILE, named_piece
from model.text.multilingual_tokenizer import PIECES_FILE, LanguageTokens, MultilingualTokenizer
from model.text.sentence_pieces import SentencePieces

_BLANK = "<blank>"
_MAX_TARGET_TOKENS = 256
"""`max_decoding_length` of CTranslate2's translator."""
_PAIR = re.compile(r"(?:^|[-_.])([a-z]{2,3})[-_]([a-z]{2,3})$")


@dataclass(frozen=True)
class _Config:
    """config.json, or the variables with the same meaning in version 5."""

    unk_token: str
    bos_token: str
    eos_token: str
    decoder_start_token: str | None
    add_source_bos: bool
    add_source_eos: bool
    layer_norm_epsilon: float | None


def read_ctranslate2(
    folder: Path,
    languages: Languages,
    *,
    name: str | None = None,
    beam_size: int = 2,
    length_penalty: float = 1.0,
    pieces: Path | None = None,
    moses: tuple[str, str] | None = None,
    first_token: str = "",
) -> ForeignModel:
    """Read and validate a folder. Raises `CheckpointError`.

    name         may end with the languages, if the folder's own name does not
    beam_size    and `length_penalty`: by default those of CTranslate2's translator
    pieces       the SentencePiece model of both sides; None: those in the folder
    moses        `pieces` has BPE codes instead; the languages of `MosesPieces`
    first_token  with which every translation starts
    """
    variables = read_binary(folder / CTRANSLATE2_FILE)
    named = _named(folder, name, languages)
    config = _read_config(folder, variables)
    source, target = read_vocabularies(folder, config.unk_token)
    tokenizer: MarianTokenizer | MultilingualTokenizer
    pairs: list[Direction] | AnyPair
    pad_id: int | None = None
    is_nllb = (folder / FAST_TOKENIZER_FILE).exists() and codes_of_tokens(source)
    if pieces is None and (is_nllb or (folder / PIECES_FILE).exists()):
        tokenizer, pairs, ids = _multilingual(folder, config, source, languages)
    else:
        found = (pieces, pieces) if pieces else find_piece_files(folder)
        tokenizer, pairs, ids = _separate(
            folder, found, config, (source, target), variables, named, first_token, moses
        )
        pad_id = ids.pop("pad_id")
    sizes = tokenizer.source_vocab_size, tokenizer.target_vocab_size
    shape = network_shape(
        variables, sizes=sizes, epsilon=config.layer_norm_epsilon, pad_id=pad_id, ids=ids
    )
    weights = read_weights(variables, shape, pad_is_added=pad_id is not None)
    check_tensors(Path(variables.origin), shape, weights)
    return ForeignModel(
        project="CTranslate2",
        origin=f"CTranslate2's binary format, version {variables.version}",
        directions=pairs,
        beam_size=beam_size,
        length_penalty=length_penalty,
        rule=HuggingFaceRule(
            early_stopping=True, max_target_tokens=_MAX_TARGET_TOKENS, processors="ctranslate2"
        ),
        processors=LogitsProcessors(min_length=0 if _has_first(tokenizer) else 1),
        shape=shape,
        weights=weights,
        tokenizer=tokenizer,
    )


def _has_first(tokenizer: MarianTokenizer | MultilingualTokenizer) -> bool:
    """Whether translations have a given first token, which counts as their minimum of one."""
    return isinstance(tokenizer, MultilingualTokenizer) or tokenizer.ends.first is not None


def _read_config(folder: Path, variables: Variables) -> _Config:
    """Read the options of version 6 from config.json, those of version 5 from model.bin."""
    if variables.version >= 6:
        path = folder / CONFIG_FILE
        values: dict[str, Any] = read_object(path)
        if kind := values.get("quantization_type"):
            raise CheckpointError(f"{path}: attend cannot run this model: quantization_type {kind}")
    else:
        path = Path(variables.origin)
        values = {
            f"{name}_token": variables.text(f"{name}_token", token)
            for name, token in (("unk", UNK), ("bos", BOS), ("eos", EOS))
        }
        for end in ("bos", "eos"):
            values[f"add_source_{end}"] = bool(variables.number(f"with_source_{end}"))
        start = "bos_token" if variables.number("with_target_bos", 1) else "eos_token"
        is_given = variables.number("user_decoder_start_tokens")
        values["decoder_start_token"] = None if is_given else values[start]
    tokens = {
        name: values.get(name, default)
        for name, default in (("unk_token", UNK), ("bos_token", BOS), ("eos_token", EOS))
    }
    start_token = values.get("decoder_start_token", tokens["bos_token"])
    epsilon = values.get("layer_norm_epsilon")
    flags = [values.get(f"add_source_{end}", False) for end in ("bos", "eos")]
    for name, value, kinds in (
        *((name, value, (str,)) for name, value in tokens.items()),
        ("decoder_start_token", start_token, (str, type(None))),
        ("layer_norm_epsilon", epsilon, (int, float, type(None))),
        *(("add_source_bos, add_source_eos", flag, (bool, int)) for flag in flags),
    ):
        if not isinstance(value, kinds):
            raise CheckpointError(f"{path}: {name} is {json.dumps(value)}")
    return _Config(**tokens, decoder_start_token=start_token, layer_norm_epsilon=epsilon,
                   add_source_bos=bool(flags[0]), add_source_eos=bool(flags[1]))  # fmt: skip


def _separate(  # noqa: PLR0917
    folder: Path,
    files: tuple[Path, Path],
    config: _Config,
    sides: tuple[list[str], list[str]],
    variables: Variables,
    languages: Languages,
    first_token: str,
    moses: tuple[str, str] | None,
) -> tuple[MarianTokenizer, list[Direction], dict[str, int]]:
    """Return a tokeniser with one table a side, the directions, and ids of special tokens."""
    pad_id = min(map(len, sides))
    renamed = [_with_pad(folder, tokens, config, pad_id) for tokens in sides]
    if moses:
        kept = {PAD, BOS, EOS, UNK, _BLANK, first_token, *symbols(renamed[0])}
        renamed = [[x if x in kept else named_piece(x) for x in tokens] for tokens in renamed]
        content = {BPE_FILE: read_file(files[0])}
    else:
        content = {
            SOURCE_PIECES_FILE: read_file(files[0]),
            TARGET_PIECES_FILE: read_file(files[1]),
        }
    content[VOCABULARY_FILE] = _json(renamed[0])
    if sides[0] != sides[1]:
        content[TARGET_VOCABULARY_FILE] = _json(renamed[1])
    ids = {token: index for index, token in enumerate(renamed[1])}
    has_zeros = starts_with_zeros(variables)
    names = {config.bos_token: BOS, config.eos_token: EOS, config.unk_token: UNK}
    start = config.decoder_start_token
    start = first_token if start is None else names.get(start, start)
    for token in [start] * (not has_zeros) + [first_token] * bool(first_token):
        if token not in ids:
            reason = f"{token!r} is not in the vocabulary" if token else "the user has to give it"
            raise CheckpointError(
                f"{folder}: attend cannot run this model: the decoder's start token: {reason}"
            )
    given = first_token if config.decoder_start_token is not None else ""
    ends = SequenceEnds(
        bos=config.add_source_bos,
        eos=config.add_source_eos or has_zeros,  # Marian's models always need it
        first=(given, ids[given]) if given else None,
    )
    pairs, symbol_of = directions(str(folder), renamed[0], languages)
    for path in () if moses else dict.fromkeys(files):
        SentencePieces(read_file(path), str(path))  # which names the file as it is called here
    tokenizer = MarianTokenizer(content, symbol_of, str(folder), ends, moses)
    found = {"eos_id": tokenizer.eos_id, "pad_id": pad_id}
    if not has_zeros:
        found["start_id"] = ids[start]
    return tokenizer, pairs, found


def _with_pad(folder: Path, tokens: Sequence[str], config: _Config, pad_id: int) -> list[str]:
    """Return tokens with the usual names of the special ones, and `<pad>` at an id of its own."""
    for option in ("eos_token", "unk_token"):
        if (token := getattr(config, option)) not in tokens:
            raise CheckpointError(f"{folder}: {option} {token!r} is not in the vocabulary")
    names = {PAD: _BLANK, config.bos_token: BOS, config.eos_token: EOS, config.unk_token: UNK}
    renamed = [names.get(token, token) for token in tokens]
    if len(set(renamed)) != len(tokens):
        raise CheckpointError(f"{folder}: two tokens of the vocabulary are {EOS}, {UNK} or {BOS}")
    return [*renamed[:pad_id], PAD, *renamed[pad_id:]]


def _multilingual(
    folder: Path, config: _Config, tokens: Sequence[str], languages: Languages
) -> tuple[MultilingualTokenizer, list[Direction] | AnyPair, dict[str, int]]:
    """Return the tokeniser of M2M-100 or NLLB, the directions, and ids of special tokens."""
    codes = codes_of_tokens(tokens)
    ids = {token: index for index, token in enumerate(tokens)}
    if not codes:
        raise CheckpointError(f"{folder}: has {PIECES_FILE}, but no token of a language")
    language_tokens = {code: (token, ids[token]) for code, token in codes.items()}
    n_pieces = min(token_id for _, token_id in language_tokens.values())
    files = {
        PIECES_FILE: read_pieces(folder),
        VOCABULARY_FILE: _json(tokens[:n_pieces]),
    }
    path = folder / TOKENIZER_FILE
    behind = path.exists() and read_object(path).get("legacy_behaviour") is True
    tokenizer = MultilingualTokenizer(
        files, LanguageTokens(language_tokens, behind), len(tokens), str(folder)
    )
    if config.decoder_start_token not in ids:
        raise CheckpointError(
            f"{folder}: decoder_start_token {config.decoder_start_token!r} is not in the vocabulary"
        )
    special = {
        "eos_id": tokenizer.eos_id,
        "pad_id": tokenizer.pad_id,
        "start_id": ids[config.decoder_start_token],
    }
    return tokenizer, select_pairs(str(folder), list(codes), languages), special


def _named(folder: Path, name: str | None, languages: Languages) -> Languages:
    """Return the languages as given, else as in a name such as `opus-mt-en-de`."""
    if languages.sources or languages.targets:
        return languages
    for called in (model_name(folder), name or ""):
        if match := _PAIR.search(called):
            return Languages([standard_code(match[1])], [standard_code(match[2])])
    return languages


def _json(tokens: Sequence[str]) -> bytes:
    ids = {token: index for index, token in enumerate(tokens)}
    return json.dumps(ids, ensure_ascii=False, indent=0).encode("utf-8", "surrogatepass")
