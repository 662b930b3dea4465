"""A model of a Firefox shape that replaces words one for one, so that lengths are natural.

python -m benchmarks.word_for_word

Random weights do not give natural lengths, and training takes days on a CPU. The weights of this
model are computed instead. The last decoder layer's attention compares only positions: that of a
target token, divided by a ratio, with those of the source. It reads the embedding of the source
token with its halves exchanged, which is the embedding of that token's partner. `</s>` is its own
partner, so an answer ends by itself, and is `ratio` times as long as its source. All products have
the sizes of a trained model; those that are not needed have weights that change little.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
import sentencepiece
from numpy.typing import NDArray
from sentencepiece import sentencepiece_model_pb2

from app.shipped import SHIPPED_CHECKPOINT
from benchmarks.checkpoints import DEFAULT_WORK
from benchmarks.options import benchmark
from model.checkpoint.reader import load_checkpoint
from model.text.tokenizer import Tokenizer
from tests.firefox_model import SHAPES, items_of, options, parameters, shortlist, write_binary

Array = NDArray[np.float32]

N_PIECES = 32_000
N_HEADS = 8
_QUIET = 0.002
"""Scale of the weights that are not needed."""
_SHARPNESS = 6.5
_GAIN = 4.0
"""Weight of attention relative to the embedding of the previous token."""
_ALPHA = 127 / 5
"""Static multiplier of all activations: normalised states are within ±5."""
_CONTROL, _UNUSED = 3, 5  # types of SentencePiece's pieces
_WORDS = (re.compile("▁[a-z]+"), re.compile("[a-z]+"))


def partners(pieces: Sequence[str]) -> NDArray[np.int64]:
    """Return the id that replaces each piece: the next word's, and its own for all others."""
    found = np.arange(len(pieces))
    for pattern in _WORDS:
        words = [index for index, piece in enumerate(pieces) if pattern.fullmatch(piece)]
        even = len(words) // 2 * 2
        found[words[0:even:2]], found[words[1:even:2]] = words[1:even:2], words[0:even:2]
    return found


def word_for_word(shape: str, partner: NDArray[np.int64], ratio: float = 1.0) -> dict[str, Array]:
    """Return the parameters by Marian's names, as `tests.firefox_model.parameters` does.

    ratio  target tokens for each source token, rounded to a power of the ratio of wavelengths,
           1.04 to 1.08
    """
    n_pieces = len(partner)
    found = parameters(SHAPES[shape], n_pieces, n_pieces, shared=True)
    for name, values in found.items():
        if name.endswith("_ln_scale"):
            values[:] = 1
        elif name.endswith(("_Wo", "_W2", "rnn_W")) or "_b" in name:
            found[name] = _QUIET * values
    width, depth = SHAPES[shape]["dim-emb"], SHAPES[shape]["dec-depth"]
    half, d_k = width // 2, width // N_HEADS
    waves = np.arange(d_k // 2)
    # The wavelength of the wave `shift` later is `ratio` times as long.
    shift = round(np.log(ratio) * (half - 1) / np.log(10_000))
    positions = np.concatenate((waves, waves + half))
    zero = half - 1  # the slowest sine, which shows the mean that the norm subtracted
    is_free = np.ones(width, bool)
    for used in (positions, positions + shift, zero):
        is_free[used] = False
    content = np.flatnonzero(is_free)[: is_free.sum() // 2 * 2]
    exchanged = np.roll(content, len(content) // 2)
    rows = np.zeros_like(found["Wemb"])
    rows[:, content] = found["Wemb"][:, content]
    own, first = partner == np.arange(n_pieces), partner > np.arange(n_pieces)
    rows[np.ix_(partner[first], exchanged)] = rows[np.ix_(first, content)]
    rows[np.ix_(own, content)] += rows[np.ix_(own, exchanged)]
    rows[own] /= np.sqrt(2)
    found["Wemb"] = rows
    query, key, value, output = (np.zeros((width, width), np.float32) for _ in "qkvo")
    for head in range(N_HEADS):
        columns = head * d_k + np.arange(d_k)
        query[positions + shift, columns] = key[positions, columns] = _SHARPNESS
        query[zero, columns] = key[zero, columns] = -_SHARPNESS
    value[content, np.arange(len(content))] = 1
    output[np.arange(len(content)), exchanged] = _GAIN
    for part, matrix in zip("qkvo", (query, key, value, output), strict=True):
        found[f"decoder_l{depth}_context_W{part}"] = matrix
    return found


def vocabulary() -> bytes:
    """Return the shipped checkpoint's pieces without its symbols, and others that no text has."""
    tokenizer = load_checkpoint(SHIPPED_CHECKPOINT).tokenizer
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError("the shipped checkpoint has a vocabulary of another kind")
    proto = sentencepiece_model_pb2.ModelProto.FromString(tokenizer.serialized)  # type: ignore[attr-defined]
    kept = [piece for piece in proto.pieces if piece.type != _CONTROL or piece.piece == "</s>"]
    del proto.pieces[:]
    proto.pieces.extend(kept)
    for index in range(N_PIECES - len(kept)):
        proto.pieces.add(piece=chr(0xF0000 + index), score=-99.0, type=_UNUSED)
    proto.trainer_spec.vocab_size = N_PIECES
    proto.trainer_spec.pad_id = -1
    content: bytes = proto.SerializeToString()
    return content


def write_word_for_word(
    folder: Path, shape: str, pieces: bytes, partner: NDArray[np.int64], ratio: float = 1.0
) -> None:
    """Write the files that every engine for these models reads: 8 bits, and a shortlist.

    pieces  the vocabulary, a SentencePiece model
    """
    folder.mkdir(parents=True, exist_ok=True)
    n_pieces = len(partner)
    items = items_of(word_for_word(shape, partner, ratio), int8=True, alpha=_ALPHA)
    sizes = {"dim-vocabs": [n_pieces, n_pieces]}  # which Marian takes for those of the embeddings
    model_options = options(SHAPES[shape], shared=True, **sizes)
    write_binary(folder / "model.enfr.intgemm.alphas.bin", items, model_options)
    (folder / "vocab.enfr.spm").write_bytes(pieces)
    candidates = shortlist(n_pieces, n_pieces, n_first=50, always=partner)
    (folder / "lex.50.50.enfr.s2t.bin").write_bytes(candidates)


@benchmark
@click.option("--shape", type=click.Choice(["tiny", "base-memory", "base"]), default="tiny")
@click.option(
    "--ratio", type=click.FloatRange(1, 2), default=1.0, help="Target tokens per source token."
)
@click.option("--work", type=click.Path(path_type=Path), default=DEFAULT_WORK)
def main(*, shape: str, ratio: float, work: Path) -> None:
    """Write a model of a shape of Firefox's that replaces words one for one."""
    folder = work / f"word-for-word-{shape}"
    pieces = vocabulary()
    processor = sentencepiece.SentencePieceProcessor(model_proto=pieces)
    partner = partners([processor.id_to_piece(index) for index in range(N_PIECES)])
    write_word_for_word(folder, shape, pieces, partner, ratio)
    click.echo(f"wrote {folder}")


if __name__ == "__main__":
    main()
