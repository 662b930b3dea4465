from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import cost
from benchmarks.cost import PAGE, by_length, measure, pages
from benchmarks.load import Load
from benchmarks.server import Server, running

USAGE = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

asked = 0

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        self.answer(
            f"# TYPE process_cpu_seconds counter\\nprocess_cpu_seconds_total {1 + 0.25 * asked}\\n"
            f"# TYPE attend_tokens_generated counter\\nattend_tokens_generated_total {7 * asked}\\n"
        )

    def do_POST(self):
        global asked
        asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer("{}")

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_sentences_are_told_apart_by_their_words() -> None:
    found = by_length(["one", "one two three four five six", "five " * 5, "word " * 50])
    assert found == {
        "1–5 words": ["one", "five " * 5],
        "6–10 words": ["one two three four five six"],
    }


def test_pages_have_all_sentences() -> None:
    found = pages([str(number) for number in range(PAGE + 1)])
    assert [len(page.split()) for page in found] == [PAGE, 1]


def test_what_the_server_has_used_is_shared_among_the_requests() -> None:
    stub = Server("stub", "1", [sys.executable, "-c", USAGE])
    with running(stub) as server:
        load = Load(port=0, texts=["a"], fields={}, clients=1, warm_up=0, requests=8)
        assert measure(server, load) == (8, 7.0, 0.25)


def test_the_benchmark_finds_a_line(tiny_checkpoint: Path, kernels: None, tmp_path: Path) -> None:
    file, found = tmp_path / "sentences.txt", tmp_path / "cost.json"
    file.write_text("The cat.\nThe old dog sees the house and the cat today.\n", "utf-8")
    command = ["--checkpoint", tiny_checkpoint, "--sentences", file, "--requests", "20"]
    command += ["--threads", "1", "--json", found]
    result = CliRunner().invoke(cost.main, [str(word) for word in command])
    assert result.exit_code == 0, result.output
    rows = json.loads(found.read_text("utf-8"))["rows"]
    assert [(row["Beam"], row["Text"]) for row in rows] == [
        (beam, text) for beam in (1, 4) for text in ("1–5 words", "6–10 words", "30 sentences")
    ]
    for row in rows[:2]:  # a line through two points meets both
        assert row["a + b n"] == pytest.approx(row["Core ms"])


def test_sentences_of_one_length_make_no_line(tmp_path: Path) -> None:
    file = tmp_path / "sentences.txt"
    file.write_text("One.\nTwo.\n", "utf-8")
    result = CliRunner().invoke(cost.main, ["--sentences", str(file)])
    assert result.exit_code == 1
    assert "two lengths" in result.output
