"""The SentencePiece model of a tokenizer.json, which `transformers` 5 saves alone for NLLB.

Both are BPE. SentencePiece joins the neighbours whose piece has the highest score; tokenizer.json
lists all pairs that join to a piece, the best first. So the order of the pieces in that list gives
their scores, and the result splits every text as the model that the list was derived from.
"""

import base64
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from model.errors import CheckpointError
from model.text.multilingual_tokenizer import PIECES_FILE, SPECIAL

FAST_TOKENIZER_FILE = "tokenizer.json"

_BPE, _UNKNOWN, _CONTROL = 2, 2, 3
"""Values of SentencePiece's `model_type` and of a piece's `type`."""
_STEPS = {"Precompiled", "Replace", "Strip", "Metaspace", "WhitespaceSplit"}
"""What a SentencePiece model does, too: its own characters, one blank between words, `▁`."""
_OPTIONS = ("byte_fallback", "dropout", "continuing_subword_prefix", "end_of_word_suffix")


def sentencepiece_model(values: Mapping[str, Any], origin: str) -> bytes:
    """Return the serialized SentencePiece model of a tokenizer.json. Raises `CheckpointError`."""
    try:
        bpe = values["model"]
        faults = [] if bpe["type"] == "BPE" else [f"type {bpe['type']!r}"]
        faults += [f"{option} = {bpe[option]!r}" for option in _OPTIONS if bpe.get(option)]
        steps = [*_steps(values.get("normalizer")), *_steps(values.get("pre_tokenizer"))]
        faults += [str(one["type"]) for one in steps if one["type"] not in _STEPS]
        charsmap = "".join(str(one.get("precompiled_charsmap", "")) for one in steps)
        normalisation = base64.b64decode(charsmap, validate=True)
        ids = {} if faults else {str(piece): int(index) for piece, index in bpe["vocab"].items()}
        special = {*SPECIAL, *(one["content"] for one in values.get("added_tokens") or [])}
        pieces = sorted(ids.keys() - special, key=ids.__getitem__)
        pairs = [one.split(" ") if isinstance(one, str) else one for one in bpe["merges"]]
        merges = [] if faults else [(str(left), str(right)) for left, right in pairs]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CheckpointError(
            f"{origin}: not a tokenizer.json as `transformers` saves it"
        ) from None
    if [ids[piece] for piece in pieces] != [*range(len(SPECIAL), len(SPECIAL) + len(pieces))]:
        faults.append("ids of pieces that are not 4, 5, …")
    elif not faults and not _are_all(pieces, merges):
        faults.append("merges that are not those of a SentencePiece model")
    if faults:
        raise CheckpointError(
            f"{origin}: attend cannot read this tokeniser: {'; '.join(faults)}; copy {PIECES_FILE} "
            "from the model that this one was trained from"
        )
    return _serialized(pieces, [left + right for left, right in merges], normalisation)


def _steps(step: Any) -> Iterator[dict[str, Any]]:
    """Yield the steps of a normaliser or pre-tokeniser, which may be a sequence of them."""
    if step and step["type"] == "Sequence":
        for one in step.get("normalizers") or step.get("pretokenizers") or []:
            yield from _steps(one)
    elif step:
        yield step


def _are_all(pieces: Sequence[str], merges: Sequence[tuple[str, str]]) -> bool:
    """Whether `merges` are all pairs of pieces that join to a piece, those of a piece together.

    Older versions of `transformers` left out those of the first piece.
    """
    known, listed = set(pieces), set(merges)
    joined = [left + right for left, right in merges]
    n_runs = sum(piece != before for piece, before in zip(joined, ["", *joined], strict=False))
    return (
        n_runs == len(set(joined))
        and all({left, right, left + right} <= known for left, right in listed)
        and all(
            piece == pieces[0] or (piece[:at], piece[at:]) in listed
            for piece in pieces
            for at in range(1, len(piece))
            if piece[:at] in known and piece[at:] in known
        )
    )


def _serialized(pieces: Sequence[str], joined: Sequence[str], normalisation: bytes) -> bytes:
    """Return SentencePiece's ModelProto, in the binary format of Protocol Buffers."""
    scores = {piece: -float(place) for place, piece in enumerate(dict.fromkeys(joined))}
    own = (("<unk>", _UNKNOWN), ("<s>", _CONTROL), ("</s>", _CONTROL))
    written = [_field(1, _field(1, piece.encode()) + bytes([3 << 3, kind])) for piece, kind in own]
    for piece in pieces:
        score = struct.pack("<Bf", 2 << 3 | 5, scores.get(piece, float(piece == pieces[0])))
        written.append(_field(1, _field(1, piece.encode("utf-8", "surrogatepass")) + score))
    written += [_field(2, bytes([3 << 3, _BPE])), _field(3, _field(2, normalisation))]
    return b"".join(written)


def _field(number: int, content: bytes) -> bytes:
    """Return a field with bytes: its key, their number in groups of seven bits, the bytes."""
    length, left = b"", len(content)
    while left > 0x7F:
        length += bytes([left & 0x7F | 0x80])
        left >>= 7
    return bytes([number << 3 | 2]) + length + bytes([left]) + content
