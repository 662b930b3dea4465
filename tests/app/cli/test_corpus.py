"""`attend corpus get`, with a mirror on this machine."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import main
from tests.app.hub.test_corpora import zipped


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "fra-eng.zip").write_bytes(zipped())
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "mirror"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_corpus_is_fetched_with_its_licence(tmp_path: Path, mirror: str) -> None:
    command = ["corpus", "get", "tatoeba", str(tmp_path / "to"), "--dev", "5"]
    command += ["--mirror", mirror, "--cache", str(tmp_path / "cache")]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "licence: CC BY 2.0 FR" in done.output
    assert "45 pairs in train.tsv, 5 in dev.tsv" in done.output
    assert "credit: Sentences from the Tatoeba Project" in done.output
    again = CliRunner().invoke(main, command)
    assert again.exit_code == 1
    assert "train.tsv: exists; --replace replaces it" in again.output
    assert CliRunner().invoke(main, [*command, "--replace"]).exit_code == 0


def test_another_corpus_is_named_with_its_source(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["corpus", "get", "law", str(tmp_path)])
    assert done.exit_code == 1
    assert "cannot be fetched automatically" in done.output
    assert "laws-lois.justice.gc.ca" in done.output
