"""Public corpora of sentence pairs: where they are from, by the shipped recipe, and their form."""

import io
import random
import re
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from lingua import Language

from app.errors import PullError
from app.hub.download import PART, Report, fetch_file
from app.hub.requests import FileServer, MissingError

PIVOT = "en"
"""One side of every pair that can be fetched."""

SEED = 1
"""Seed for the order of the pairs, so that the same archive gives the same files."""

SPLIT = ("train.tsv", "dev.tsv")
"""The files that `recipes/first.toml` reads."""

_MAX_BYTES = 4 * 2**30

Pairs = Iterator[tuple[str, str]]
"""English, and the other language."""


class PublicCorpus(NamedTuple):
    """A corpus of the recipe; `address` is the first URL of its origin, if it has one."""

    name: str
    origin: str
    licence: str
    credit: str

    @property
    def address(self) -> str | None:
        found = re.search(r"https?://[^\s,)]+", self.origin)
        return found[0].rstrip("/") if found else None


class Archive(NamedTuple):
    """The archive of a pair: its path below the corpus's address, and how it is read."""

    path: str
    read: Callable[[Path], Pairs]


def read_corpora(recipe: Path) -> dict[str, PublicCorpus]:
    """Return the corpora of a shipped recipe by names such as `tatoeba` and `europarl`."""
    corpora = [
        PublicCorpus(one["name"], one["origin"], one["licence"], one["credit"])
        for one in tomllib.loads(recipe.read_text("utf-8"))["corpora"]
    ]
    return {one.name.lower().partition(" v")[0].replace(" ", "-"): one for one in corpora}


def archive_of(corpora: Mapping[str, PublicCorpus], name: str, language: str) -> Archive:
    """Return the archive of a corpus for a language and English.

    Raises `PullError` if it cannot be fetched automatically, and says where it is from.
    """
    if name not in corpora:
        raise PullError(f"{name}: no such corpus; there are: {', '.join(corpora)}")
    if name == "europarl":
        members = [f"europarl-v7.{language}-en.{code}" for code in (PIVOT, language)]
        return Archive(f"v7/{language}-en.tgz", lambda path: _read_tar(path, members))
    if name == "tatoeba":
        codes = {
            one.iso_code_639_1.name.lower(): one.iso_code_639_3.name.lower()
            for one in Language.all()
        }
        code = codes.get(language, language)
        return Archive(f"{code}-eng.zip", lambda path: _read_zip(path, f"{code}.txt"))
    corpus = corpora[name]
    raise PullError(
        f"{name}: cannot be fetched automatically; it is from: {corpus.origin}. Licence: "
        f"{corpus.licence}"
    )


def fetch_archive(server: FileServer, address: str, folder: Path, report: Report) -> Path:
    """Download an archive into `folder`; an interrupted download is resumed. Raises `PullError`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / address.rpartition("/")[2]
    if path.exists():
        return path
    part = path.with_name(path.name + PART)
    try:
        fetch_file(server, address, part, report, _MAX_BYTES)
    except MissingError:
        raise PullError(f"{address}: not there; see its site for the languages it has") from None
    return part.rename(path)


def write_split(pairs: Pairs, folder: Path, n_held_out: int) -> tuple[int, int]:
    """Write the files of `SPLIT`, in random order; return their numbers of pairs.

    Pairs with an empty side, and repeated ones, are dropped. Raises `PullError` if too few remain.
    """
    cleaned = ((_clean(one), _clean(other)) for one, other in pairs)
    unique = list(dict.fromkeys(pair for pair in cleaned if all(pair)))
    if len(unique) <= n_held_out:
        raise PullError(f"{len(unique)} pairs are too few to hold {n_held_out} back: --dev")
    random.Random(SEED).shuffle(unique)
    folder.mkdir(parents=True, exist_ok=True)
    parts = unique[n_held_out:], unique[:n_held_out]
    for name, part in zip(SPLIT, parts, strict=True):
        unfinished = folder / f".{name}.unfinished"
        with unfinished.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(f"{one}\t{other}\n" for one, other in part)
        unfinished.rename(folder / name)
    return len(parts[0]), len(parts[1])


def _clean(sentence: str) -> str:
    return " ".join(sentence.split())


def _read_zip(path: Path, member: str) -> Pairs:
    """Yield the first two columns; the third has the credits."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as lines:
            for line in io.TextIOWrapper(lines, "utf-8"):
                columns = line.rstrip("\n").split("\t")
                if len(columns) >= 2:
                    yield columns[0], columns[1]
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError, EOFError) as error:
        raise _broken(path, error) from None


def _read_tar(path: Path, members: list[str]) -> Pairs:
    """Yield the lines of two files in parallel."""
    try:
        with tarfile.open(path) as first, tarfile.open(path) as second:
            sides = first.extractfile(members[0]), second.extractfile(members[1])
            texts = [io.TextIOWrapper(side, "utf-8") for side in sides if side]
            for pair in zip_longest(*texts):
                if len(pair) < 2 or None in pair:
                    raise PullError(f"{path}: its two files differ in length; delete it, try again")
                yield pair[0].rstrip("\n"), pair[1].rstrip("\n")
    except (tarfile.TarError, KeyError, UnicodeDecodeError, EOFError, OSError) as error:
        raise _broken(path, error) from None


def _broken(path: Path, error: Exception) -> PullError:
    return PullError(f"{path}: not the expected archive ({error}); delete it and try again")
