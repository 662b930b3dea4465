"""Public corpora from a fake server: fetching, resuming, reading and splitting."""

import io
import tarfile
import zipfile
from pathlib import Path

import httpx
import pytest

from app.errors import PullError
from app.hub.corpora import archive_of, fetch_archive, read_corpora, write_split
from app.hub.requests import FileServer
from app.shipped import recipe_path
from tests.app.hub.fake_hub import Broken

CORPORA = read_corpora(recipe_path("en-fr"))

PAIRS = [(f"House {i}.", f"Maison {i}.") for i in range(50)]


def zipped() -> bytes:
    text = "".join(f"{one}\t{other}\tCC-BY 2.0 (France)\n" for one, other in PAIRS)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("_about.txt", "about")
        archive.writestr("fra.txt", text)
    return content.getvalue()


def tarred(sides: tuple[list[str], list[str]]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for code, lines in zip(("fr", "en"), sides[::-1], strict=True):
            text = "".join(f"{line}\n" for line in lines).encode()
            entry = tarfile.TarInfo(f"europarl-v7.fr-en.{code}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return content.getvalue()


def test_the_recipe_names_the_sources_of_corpora() -> None:
    assert CORPORA["tatoeba"].address == "https://www.manythings.org/anki"
    assert CORPORA["tatoeba"].licence == "CC BY 2.0 FR"
    assert CORPORA["europarl"].address == "https://www.statmt.org/europarl"
    assert archive_of(CORPORA, "tatoeba", "fr").path == "fra-eng.zip"
    assert archive_of(CORPORA, "europarl", "de").path == "v7/de-en.tgz"


def test_a_corpus_that_cannot_be_fetched_names_its_source() -> None:
    with pytest.raises(PullError, match=r"from: https://github\.com/mdn\. Licence: CC BY-SA"):
        archive_of(CORPORA, "mdn", "fr")
    with pytest.raises(PullError, match="no such corpus; there are: tatoeba, europarl"):
        archive_of(CORPORA, "tatoba", "fr")


def test_a_download_that_breaks_is_resumed(tmp_path: Path) -> None:
    content = zipped()
    ranges: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        ranges.append(request.headers.get("range"))
        start = int((ranges[-1] or "bytes=0-")[6:-1])
        if not start:
            return httpx.Response(200, stream=Broken(content[:300], breaks=True))
        headers = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        stream = Broken(content[start:], breaks=False)
        return httpx.Response(206, stream=stream, headers=headers)

    server = FileServer("http://x", httpx.MockTransport(answer), sleep=lambda _: None)
    path = fetch_archive(server, "http://x/anki/fra-eng.zip", tmp_path, lambda _: None)
    assert ranges == [None, "bytes=300-"]
    assert path.read_bytes() == content
    assert list(archive_of(CORPORA, "tatoeba", "fr").read(path)) == PAIRS


def test_a_missing_archive_is_named(tmp_path: Path) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(404))
    server = FileServer("http://x", transport, sleep=lambda _: None)
    with pytest.raises(PullError, match=r"http://x/zz-eng\.zip: not there"):
        fetch_archive(server, "http://x/zz-eng.zip", tmp_path, lambda _: None)


def test_parallel_files_of_an_archive_are_pairs(tmp_path: Path) -> None:
    read = archive_of(CORPORA, "europarl", "fr").read
    path = tmp_path / "fr-en.tgz"
    path.write_bytes(tarred(([one for one, _ in PAIRS], [other for _, other in PAIRS])))
    assert list(read(path)) == PAIRS
    path.write_bytes(tarred((["a", "b"], ["c"])))
    with pytest.raises(PullError, match="differ in length"):
        list(read(path))


@pytest.mark.parametrize("name", ["tatoeba", "europarl"])
def test_another_file_in_its_place_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "page.html"
    path.write_text("<p>Not found</p>")
    with pytest.raises(PullError, match="not the expected archive"):
        list(archive_of(CORPORA, name, "fr").read(path))


def test_the_split_has_every_pair_once(tmp_path: Path) -> None:
    pairs = [*PAIRS, PAIRS[0], ("", "x"), (" House \t1. ", "Maison 1.")]
    assert write_split(iter(pairs), tmp_path, 10) == (40, 10)
    lines = [(tmp_path / name).read_text().splitlines() for name in ("train.tsv", "dev.tsv")]
    assert sorted(line for part in lines for line in part) == sorted(map("\t".join, PAIRS))
    assert write_split(iter(PAIRS), tmp_path / "again", 10) == (40, 10)
    assert (tmp_path / "again" / "dev.tsv").read_text().splitlines() == lines[1]
    with pytest.raises(PullError, match="too few to hold 50 back"):
        write_split(iter(PAIRS), tmp_path, 50)
