"""The tokeniser of M2M-100 and NLLB: one SentencePiece model, and a token per language.

The encoder reads the source's language, and the decoder starts with the target's. Ids are
fairseq's: `<s>`, `<pad>`, `</s>` and `<unk>` are 0 to 3. The pieces follow, as listed in
`vocab.json` (M2M-100) or in the order of the SentencePiece model after its own three symbols
(NLLB), then the languages, then unused ids.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from model.errors import CheckpointError, LanguageError
from model.text.marian_tokenizer import BOS, EOS, PAD, UNK, VOCABULARY_FILE, read_pieces
from model.text.piece_table import PieceTable, TableCodec, read_files
from model.text.sentence_pieces import SentencePieces
from model.text.text_codec import Token

PIECES_FILE = "sentencepiece.bpe.model"

SPECIAL = (BOS, PAD, EOS, UNK)
"""Special tokens in the order of their ids."""

_OWN_SYMBOLS = 3
"""Symbols at the start of NLLB's SentencePiece model: `<unk>`, `<s>`, `</s>`."""


@dataclass(frozen=True)
class LanguageTokens:
    """The languages of a vocabulary.

    tokens  API code → token and its id, such as `fr` → (`__fr__`, 128028)
    behind  the source's token follows `</s>` instead of coming first (NLLB's `legacy_behaviour`)
    """

    tokens: Mapping[str, tuple[str, int]]
    behind: bool = False


class MultilingualTokenizer(TableCodec):
    """The `TextCodec` of M2M-100 and NLLB.

    `files` maps file names to content: `sentencepiece.bpe.model`, and `vocab.json` if ids are
    listed there. `size` is the number of ids. Raises `CheckpointError` for files that are damaged
    or inconsistent.
    """

    n_control_tokens = 2  # the source's language and `</s>`

    def __init__(
        self, files: Mapping[str, bytes], languages: LanguageTokens, size: int, origin: str
    ) -> None:
        self.files: Mapping[str, bytes] = dict(files)
        self.languages = languages
        reader = SentencePieces(files[PIECES_FILE], f"{origin}/{PIECES_FILE}")
        self.n_pieces, pieces = _pieces(files, reader, size, origin)
        for code, (token, token_id) in languages.tokens.items():
            if not self.n_pieces <= token_id < size:
                raise CheckpointError(
                    f"{origin}: the token of {code!r} has id {token_id}, "
                    f"not {self.n_pieces} … {size - 1}"
                )
            pieces[token_id] = token
        special = {*SPECIAL, *pieces[self.n_pieces :]}
        table = PieceTable(reader, pieces, special, SPECIAL.index(UNK))
        super().__init__(table, table, SPECIAL.index(EOS), SPECIAL.index(PAD))

    @classmethod
    def load(cls, folder: Path, languages: LanguageTokens, size: int, *, listed: bool) -> Self:
        """Read the files of a folder, `vocab.json` if `listed`. Raises as the class."""
        files = read_files(folder, (PIECES_FILE, VOCABULARY_FILE)[: 1 + listed])
        return cls(files, languages, size, str(folder))

    def can_translate_to(self, language: str) -> bool:
        return language in self.languages.tokens

    def first_id(self, target_language: str) -> int:
        return self._language(target_language, "target").id

    def encode_source(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[Token]:
        """Return the source's language, the pieces of `text`, `</s>`."""
        self._language(target_language, "target")
        language = self._language(source_language, "source")
        end = self._end(text)
        if not self.languages.behind:
            return [language, *self.tokenize(text), end]
        behind = Token(language.id, language.piece, len(text), len(text))
        return [*self.tokenize(text), end, behind]

    def source_ids(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[int]:
        self._language(target_language, "target")
        language = self._language(source_language, "source").id
        ids = self._source.ids(text)
        if self.languages.behind:
            return [*ids, self.eos_id, language]
        return [language, *ids, self.eos_id]

    def encode_target(self, text: str, target_language: str | None = None) -> list[Token]:
        """Return the target's language if it is given, the pieces of `text`, `</s>`."""
        first = [] if target_language is None else [self._language(target_language, "target")]
        return [*first, *self.tokenize(text), self._end(text)]

    def _language(self, code: str | None, side: str) -> Token:
        if code is None:
            raise LanguageError(f"a {side} language is needed")
        if code not in self.languages.tokens:
            known = ", ".join(self.languages.tokens)
            raise LanguageError(f"no {side} language '{code}'; there are: {known}")
        token, token_id = self.languages.tokens[code]
        return Token(token_id, token, 0, 0)


def _pieces(
    files: Mapping[str, bytes], reader: SentencePieces, size: int, origin: str
) -> tuple[int, list[str]]:
    """Return the number of pieces, and the pieces by id, with unused ones up to `size`."""
    if VOCABULARY_FILE in files:
        pieces = read_pieces(files, VOCABULARY_FILE, origin)
        name = VOCABULARY_FILE
    else:
        processor = reader.processor
        own = range(_OWN_SYMBOLS, processor.vocab_size())
        pieces = [*SPECIAL, *map(processor.id_to_piece, own)]
        name = PIECES_FILE
    if tuple(pieces[: len(SPECIAL)]) != SPECIAL:
        raise CheckpointError(
            f"{origin}/{name}: ids 0 to 3 are {', '.join(pieces[: len(SPECIAL)])}, "
            f"not {', '.join(SPECIAL)}"
        )
    if len(pieces) > size:
        raise CheckpointError(f"{origin}/{name}: {len(pieces)} pieces, more than {size} ids")
    return len(pieces), [*pieces, *(f"<unused{index}>" for index in range(size - len(pieces)))]
