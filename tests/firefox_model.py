"""Writes random models in Marian's binary format, with the shapes of Firefox models."""

import gzip
import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

SHAPES: dict[str, dict[str, int]] = {
    "tiny": {"dim-emb": 256, "transformer-dim-ffn": 1536, "enc-depth": 6, "dec-depth": 2},
    "base-memory": {"dim-emb": 384, "transformer-dim-ffn": 1536, "enc-depth": 6, "dec-depth": 4},
    "base": {"dim-emb": 512, "transformer-dim-ffn": 2048, "enc-depth": 6, "dec-depth": 2},
    "test": {"dim-emb": 32, "transformer-dim-ffn": 48, "enc-depth": 2, "dec-depth": 2},
}
_ALIGNMENT = 256
_FLOAT32, _INT8, _INTGEMM8 = 0x0404, 0x0101, 0x4101

Item = tuple[int, tuple[int, ...], bytes]


def word_vocabulary(n_pieces: int) -> bytes:
    """Return a SentencePiece model whose piece i is "▁wi": a text of such words shows its ids."""
    from sentencepiece import sentencepiece_model_pb2 as proto

    model: Any = proto.ModelProto()  # type: ignore[attr-defined]
    model.trainer_spec.model_type = 1  # unigram
    model.trainer_spec.vocab_size = n_pieces
    for field, value in (("bos_id", -1), ("eos_id", 0), ("unk_id", 1), ("pad_id", -1)):
        setattr(model.trainer_spec, field, value)
    model.normalizer_spec.name = "identity"
    for index in range(n_pieces):
        piece = model.pieces.add()
        piece.piece = ("</s>", "<unk>")[index] if index < 2 else f"▁w{index}"
        piece.score = -float(index)
        piece.type = (3, 2)[index] if index < 2 else 1
    written: bytes = model.SerializeToString()
    return written


def options(shape: Mapping[str, int], *, shared: bool, **changed: Any) -> dict[str, Any]:
    """Return the options with which Firefox models are trained."""
    return {
        "type": "transformer", "transformer-heads": 8, "transformer-decoder-autoreg": "rnn",
        "dec-cell": "ssru", "transformer-ffn-activation": "relu", "transformer-ffn-depth": 2,
        "transformer-preprocess": "", "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d", "transformer-postprocess-top": "",
        "transformer-tied-layers": [], "transformer-no-projection": False,
        "transformer-train-position-embeddings": False, "layer-normalization": False,
        "transformer-guided-alignment-layer": "last", "output-omit-bias": False,
        "lemma-dim-emb": 0, "tied-embeddings-all": shared, "tied-embeddings": not shared,
        "enc-cell": "gru", "dim-rnn": 1024, "version": "v1.12.14 2d067af", "dim-vocabs": [0, 0],
        **shape, **changed,
    }  # fmt: skip


def parameters(
    shape: Mapping[str, int], n_source: int, n_target: int, *, shared: bool, seed: int = 0
) -> dict[str, NDArray[np.float32]]:
    """Return random float32 parameters by Marian's names; matrices [in, out], embeddings [V, D]."""
    rng = np.random.default_rng(seed)
    width, inner = shape["dim-emb"], shape["transformer-dim-ffn"]
    found: dict[str, NDArray[np.float32]] = {}

    def normal(name: str, rows: int, columns: int, scale: float) -> None:
        found[name] = rng.normal(0, scale, (rows, columns)).astype(np.float32)

    def norm(name: str) -> None:
        found[f"{name}_ln_scale"] = rng.normal(1, 0.1, (1, width)).astype(np.float32)
        normal(f"{name}_ln_bias", 1, width, 0.05)

    def attention(name: str) -> None:
        for part, gain in zip("qkvo", (2, 2, 1, 2), strict=True):
            normal(f"{name}_W{part}", width, width, gain * width**-0.5)
            normal(f"{name}_b{part}", 1, width, 0.05)
        norm(f"{name}_Wo")

    def feed_forward(name: str) -> None:
        normal(f"{name}_W1", width, inner, width**-0.5)
        normal(f"{name}_b1", 1, inner, 0.05)
        # Large, since else the residual makes a tied output repeat the previous token.
        normal(f"{name}_W2", inner, width, 4 * inner**-0.5)
        normal(f"{name}_b2", 1, width, 0.05)
        norm(f"{name}_ffn")

    for layer in range(1, shape["enc-depth"] + 1):
        attention(f"encoder_l{layer}_self")
        feed_forward(f"encoder_l{layer}_ffn")
    for layer in range(1, shape["dec-depth"] + 1):
        for name in ("W", "Wf"):
            normal(f"decoder_l{layer}_rnn_{name}", width, width, 3 * width**-0.5)
        normal(f"decoder_l{layer}_rnn_bf", 1, width, 1.0)
        norm(f"decoder_l{layer}_rnn_ffn")
        attention(f"decoder_l{layer}_context")
        feed_forward(f"decoder_l{layer}_ffn")
    normal("Wemb" if shared else "decoder_Wemb", n_target, width, width**-0.5)
    if not shared:
        normal("encoder_Wemb", n_source, width, width**-0.5)
    normal("decoder_ff_logit_out_b", 1, n_target, 0.2)
    return found


def quantised(matrix: NDArray[np.float32], *, transpose: bool) -> bytes:
    """Return the content of an intgemm8 item."""
    multiplier = np.float32(127 / np.abs(matrix).max())
    codes = np.rint(matrix * multiplier).clip(-127, 127).astype(np.int8)
    stored: bytes = (codes.T if transpose else codes).tobytes()
    return stored + struct.pack("<f", multiplier)


def items_of(
    tensors: Mapping[str, NDArray[np.float32]], *, int8: bool, alpha: float = 20.0
) -> dict[str, Item]:
    """Return the items of a file: matrices quantised if `int8`, each with a static multiplier."""
    found: dict[str, Item] = {}
    for name, values in tensors.items():
        is_matrix = ("_W" in name and "_ln_" not in name) or name == "Wemb"
        if not (int8 and is_matrix):
            found[name] = (_FLOAT32, values.shape, values.astype("<f4").tobytes())
            continue
        is_embedding = "Wemb" in name
        found[name] = (_INTGEMM8, values.shape, quantised(values, transpose=not is_embedding))
        if not is_embedding:
            found[f"{name}_QuantMultA"] = (_FLOAT32, (1, 1), struct.pack("<f", alpha))
        elif name != "encoder_Wemb":
            one = np.array([[alpha]], np.float32)
            found[f"{name}_QuantMultA"] = (_INTGEMM8, (1, 1), quantised(one, transpose=False))
    if int8 and "Wemb" in tensors:
        found["none_QuantMultA"] = (_FLOAT32, (1, 1), struct.pack("<f", alpha))
    return found


def write_binary(path: Path, items: Mapping[str, Item], model_options: Mapping[str, Any]) -> None:
    """Write a file as Marian does: items in the order of their names, the options last."""
    text = yaml.safe_dump(dict(model_options)).encode() + b"\0"
    listed = [(name, *items[name]) for name in sorted(items)]
    listed = [(n, k, s, d + bytes(-len(d) % _ALIGNMENT)) for n, k, s, d in listed]
    listed.append(("special:model.yml", _INT8, (len(text),), text))
    written = struct.pack("<QQ", 1, len(listed))
    for name, kind, shape, data in listed:
        written += struct.pack("<QQQQ", len(name.encode()) + 1, kind, len(shape), len(data))
    written += b"".join(name.encode() + b"\0" for name, *_ in listed)
    written += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in listed)
    at = len(written)
    gap = ((at + 8) // _ALIGNMENT + 1) * _ALIGNMENT - at - 8
    written += struct.pack("<Q", gap) + bytes(gap)
    path.write_bytes(written + b"".join(data for *_, data in listed))


def shortlist(
    n_source: int,
    n_target: int,
    *,
    seed: int = 0,
    n_first: int = 20,
    always: NDArray[np.int64] | None = None,
) -> bytes:
    """Return the content of lex.*.bin with random candidates of every source token.

    always  [n_source], a candidate that each token always has
    """
    rng = np.random.default_rng(seed)
    lists = [np.unique(rng.choice(n_target, rng.integers(0, 12))) for _ in range(n_source)]
    if always is not None:
        lists = [np.union1d(found, one) for found, one in zip(lists, always, strict=True)]
    offsets = np.cumsum([0, *map(len, lists)]).astype("<u8")
    ids = np.concatenate(lists).astype("<u4")
    body = struct.pack("<4Q", n_first, 12, len(offsets), len(ids)) + offsets.tobytes()
    body += ids.tobytes()
    total = 0
    for word in np.frombuffer(body, "<u8", len(body) // 8).tolist():
        total ^= (word + 0x9E3779B9 + (total << 6) + (total >> 2)) % 2**64
    return struct.pack("<2Q", 0xF11A48D5013417F5, total) + body


def write_model(
    folder: Path,
    shape: str,
    vocabularies: tuple[bytes, ...],
    n_pieces: tuple[int, int],
    *,
    int8: bool = True,
    pair: str = "enfr",
    seed: int = 0,
    with_shortlist: bool = False,
) -> Path:
    """Write a folder with a model: `vocabularies` are one SentencePiece model, or one per side."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = len(vocabularies) == 1
    tensors = parameters(SHAPES[shape], *n_pieces, shared=shared, seed=seed)
    name = "intgemm.alphas" if int8 else "float32"
    path = folder / f"model.{pair}.{name}.bin"
    write_binary(path, items_of(tensors, int8=int8), options(SHAPES[shape], shared=shared))
    names = ("vocab",) if shared else ("srcvocab", "trgvocab")
    for side, content in zip(names, vocabularies, strict=True):
        (folder / f"{side}.{pair}.spm").write_bytes(content)
    if with_shortlist:
        (folder / f"lex.50.50.{pair}.s2t.bin").write_bytes(shortlist(*n_pieces, seed=seed))
    return path


def empty_shortlist(n_pieces: int) -> bytes:
    """Return a shortlist of the first 50 pieces for every word."""
    words = [50, 50, n_pieces + 1, 0, *[0] * (n_pieces + 1)]
    checksum = 0
    for word in words:
        mixed = word + 0x9E3779B9 + (checksum << 6) + (checksum >> 2)
        checksum = (checksum ^ mixed) % 2**64
    return struct.pack(f"<{len(words) + 2}Q", 0xF11A48D5013417F5, checksum, *words)


def write_registry(parent: Path, pairs: Sequence[str], shape: str = "test") -> Path:
    """Write a mirror with random models, and return its folder; each file is gzipped."""
    words, mirror = word_vocabulary(60), parent / "mirror"
    models: dict[str, list[dict[str, object]]] = {}
    for seed, pair in enumerate(pairs):
        letters = pair.replace("-", "")
        model = write_model(parent / letters, shape, (words,), (60, 60), pair=letters, seed=seed)
        shortlist = model.with_name(f"lex.50.50.{letters}.s2t.bin")
        shortlist.write_bytes(empty_shortlist(60))
        vocabulary = model.with_name(f"vocab.{letters}.spm")
        files = {"model": model, "vocab": vocabulary, "lexicalShortlist": shortlist}
        listed: dict[str, dict[str, object]] = {}
        for kind, path in files.items():
            packed = mirror / pair / f"{path.name}.gz"
            packed.parent.mkdir(parents=True, exist_ok=True)
            packed.write_bytes(gzip.compress(path.read_bytes()))
            listed[kind] = {"path": f"{pair}/{packed.name}"}
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
        listed["model"] |= {"uncompressedHash": digest, "uncompressedSize": model.stat().st_size}
        source, _, target = pair.partition("-")
        models[pair] = [
            {"architecture": "tiny", "releaseStatus": "Release", "sourceLanguage": source,
             "targetLanguage": target, "files": listed}
        ]  # fmt: skip
    (mirror / "models.json").write_text(json.dumps({"baseUrl": "", "models": models}))
    return mirror
