"""Moses's rules and byte-pair encoding (Sennrich et al. 2016, §3.2): text to pieces and back.

Older packages of Argos Translate split text so: punctuation is normalised, words are separated and
escaped by sacremoses, and each word is merged from its characters by `bpe.model`, the codes of
subword-nmt. A piece ends with `▁` if its word ends with it; subword-nmt writes `@@` at the end of
the others instead.
"""

import html
import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from model.errors import CheckpointError
from model.text.text_codec import Token

BPE_FILE = "bpe.model"

WORD_END = "▁"
_CONTINUES = "@@"
_CODE_END = "</w>"
_MAX_WORD = 200
"""Characters of a word that are merged together; merging takes the square of their number."""
_PART = re.compile(r"\S.{0,1998}(?!\S)|\S{1,2000}", re.DOTALL)
"""What sacremoses gets at a time; some of its expressions take the square of a text's length."""
_UNFINISHED = re.compile(r"[&@]\S*$")
"""An escaped character of which pieces are missing."""


def named_piece(token: str) -> str:
    """Return the piece of a token as subword-nmt writes it."""
    return token.removesuffix(_CONTINUES) if token.endswith(_CONTINUES) else token + WORD_END


class MosesPieces:
    """Splits text into pieces and joins pieces to text, with their spans; see `SentencePieces`.

    languages  of source and target, whose rules apply; sacremoses has English ones for the others

    Spans are of whole words where normalisation or escapes change them. Raises `CheckpointError` if
    the codes are damaged, or sacremoses is not installed.
    """

    def __init__(self, codes: bytes, languages: tuple[str, str], origin: str) -> None:
        try:
            from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer
        except ImportError:
            raise CheckpointError(
                f"{origin}: this model splits text by Moses's rules, which the extra argos "
                "has: pip install 'sacremoses>=0.2'"
            ) from None
        source, target = languages
        self._normalizer = MosesPunctNormalizer(source)
        self._tokenizer = MosesTokenizer(source)
        self._detokenizer = MosesDetokenizer(target)
        self._ranks, self._is_end_apart = _read(codes, origin)
        self._merged = lru_cache(maxsize=20_000)(self._merge)

    def pieces(self, text: str) -> list[str]:
        return [piece for word in self._words(text) for piece in self._merged(word)]

    def split(self, text: str) -> list[Token]:
        """As `SentencePieces.split`; pieces have no ids of their own."""
        words = [self._merged(word) for word in self._words(text)]
        spans = _spans(words, text)
        pieces = [piece for word in words for piece in word]
        return [Token(-1, piece, *span) for piece, span in zip(pieces, spans, strict=True)]

    def join(self, pieces: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
        """As `SentencePieces.join`. An escaped character at the end that is not complete is left
        out, so that the text of a prefix is a prefix of the text."""
        words: list[list[str]] = [[]]
        for piece in pieces:
            words[-1].append(piece)
            if piece.endswith(WORD_END):
                words.append([])
        written = [_word(word) for word in words]
        written[-1] = _UNFINISHED.sub("", written[-1])
        try:
            text: str = self._detokenizer.detokenize(written)
        except TypeError:  # sacremoses 0.2 fails on some Czech words with a dash
            text = html.unescape(" ".join(written).strip())
        return text, list(_spans(words, text))

    def _words(self, text: str) -> Iterator[str]:
        for part in _PART.findall(text):
            for word in self._tokenizer.tokenize(self._normalizer.normalize(part)):
                for start in range(0, len(word), _MAX_WORD):
                    yield word[start : start + _MAX_WORD]

    def _merge(self, word: str) -> tuple[str, ...]:
        """Return the pieces of a word: pairs are merged everywhere, in the order of the codes."""
        symbols = [*word, _CODE_END] if self._is_end_apart else [*word[:-1], word[-1] + _CODE_END]
        while len(symbols) > 1:
            best = min(pairwise(symbols), key=lambda pair: self._ranks.get(pair, math.inf))
            if best not in self._ranks:
                break
            merged: list[str] = []
            for symbol in symbols:
                if merged and (merged[-1], symbol) == best:
                    merged[-1] += symbol
                else:
                    merged.append(symbol)
            symbols = merged
        if symbols[-1] == _CODE_END:
            symbols.pop()
        symbols[-1] = symbols[-1].removesuffix(_CODE_END) + WORD_END
        return tuple(symbols)


def _read(codes: bytes, origin: str) -> tuple[dict[tuple[str, str], int], bool]:
    """Return pairs with their ranks, and whether the end of a word is a symbol of its own."""
    try:
        lines = codes.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        raise CheckpointError(f"{origin}/{BPE_FILE}: not UTF-8") from None
    version = "0.1"
    offset = 1
    if lines[0].startswith("#version:"):
        version = lines.pop(0).removeprefix("#version:").strip()
        offset = 2
    if version not in ("0.1", "0.2"):
        raise CheckpointError(f"{origin}/{BPE_FILE}: version {version[:20]}, not 0.1 or 0.2")
    ranks: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines):
        match line.strip(" ").split(" "):
            case [first, second] if first and second:
                ranks.setdefault((first, second), number)
            case _:
                raise CheckpointError(
                    f"{origin}/{BPE_FILE}: line {number + offset} is not two pieces"
                )
    return ranks, version == "0.1"


def _word(pieces: Sequence[str]) -> str:
    return "".join(pieces).removesuffix(WORD_END)


def _spans(words: Sequence[Sequence[str]], text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each piece; `words` are those of the text, in order, and escaped."""
    at = 0
    for word in words:
        escaped = _word(word)
        plain = html.unescape(escaped)
        start, at = _find(plain, text, at)
        if plain != escaped or text[start:at] != plain:
            yield from [(start, at)] * len(word)
            continue
        place = start
        for piece in word:
            end = min(place + len(piece.removesuffix(WORD_END)), at)
            yield place, end
            place = end


def _find(word: str, text: str, at: int) -> tuple[int, int]:
    """Return the span of a word at a place of the text, where its signs may be other ones."""
    while at < len(text) and text[at].isspace():
        at += 1
    if text.startswith(word, at):
        return at, at + len(word)
    start = end = at
    for sign in word:
        near = text.find(sign, end, end + 4)
        if near >= 0:
            start = near if end == start else start
            end = near + 1
        elif not sign.isalnum() and text[end : end + 1] > "\x7f":  # such as " for “
            end += 1
    return start, end
