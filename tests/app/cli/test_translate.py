import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from app.cli.translating.remote import MAX_TEXTS
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.translator import Sentence, Translator, offline_engines
from tests.app.cli.conftest import Attend
from tests.app.cli.test_main import start
from tests.app.garbling_engine import GarblingEngine, incremented, one_number

SENTENCES = ["The weather is nice today.", "", "A dog.", "   ", "The old cat sees a green house."]


@pytest.fixture(scope="module")
def expected(tiny_checkpoint: Path) -> list[str]:
    """Translate with the checkpoint, one sentence at a time, from English to French."""
    loaded = load_checkpoint(tiny_checkpoint)
    sentence = partial(
        Sentence, codec=loaded.tokenizer, direction=("en", "fr"), max_tokens=128,
        options=SearchOptions(beam_size=2),
    )  # fmt: skip
    translator = Translator(sentence, offline_engines(loaded))
    return [one.translation for text in SENTENCES for one in translator.stream([text])]


def test_lines_keep_their_order(attend: Attend, tiny_checkpoint: Path, expected: list[str]) -> None:
    result = attend("translate", "--checkpoint", tiny_checkpoint, stdin="\n".join(SENTENCES))
    assert result.exit_code == 0
    assert result.stdout.split("\n") == [*expected, ""]
    assert (expected[1], expected[3]) == (SENTENCES[1], SENTENCES[3])


def test_the_words_of_the_command_line_are_a_text(
    attend: Attend, tiny_checkpoint: Path, expected: list[str]
) -> None:
    for words in ([SENTENCES[0]], SENTENCES[0].split(" ")):
        result = attend("translate", "--checkpoint", tiny_checkpoint, *words, stdin="not read")
        assert result.stdout == expected[0] + "\n"


def test_a_file_without_its_flag_is_a_usage_error(
    attend: Attend, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    file = tmp_path / "report.md"
    file.write_text("Hello.")
    result = attend("translate", "--checkpoint", tiny_checkpoint, file)
    assert result.exit_code == 2
    assert f"{file} is a file; --file {file} translates it." in result.stderr
    both = attend("translate", "--checkpoint", tiny_checkpoint, "--file", file, "Hello.")
    assert both.exit_code == 2
    assert "exclude each other" in both.stderr


def test_checkpoint_variable(
    attend: Attend, tiny_checkpoint: Path, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTEND_CHECKPOINT", str(tiny_checkpoint))
    assert attend("translate", stdin=SENTENCES[0]).stdout == expected[0] + "\n"


def test_languages_select_a_pulled_model(
    attend: Attend,
    row_of_checkpoints: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ATTEND_MODELS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    missing = attend("translate", "--target", "de", stdin=SENTENCES[0])
    assert "'en-fr' does not translate into de" in missing.stderr  # the shipped one
    folder = tmp_path / "attend" / "models"
    folder.mkdir(parents=True)
    (folder / "broken").mkdir()
    (folder / "en-de").symlink_to(row_of_checkpoints[1])
    named = attend("translate", "--checkpoint", row_of_checkpoints[1], stdin=SENTENCES[0])
    pulled = attend("translate", "--target", "de", stdin=SENTENCES[0])
    assert (pulled.exit_code, pulled.stdout) == (0, named.stdout)
    unknown = attend("translate", "--source", "it", stdin=SENTENCES[0])
    assert "'en-fr' does not translate from it" in unknown.stderr


def test_several_checkpoints_are_refused(
    attend: Attend, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTEND_CHECKPOINT", os.pathsep.join([str(tiny_checkpoint)] * 2))
    result = attend("translate", stdin="Cat.")
    assert result.exit_code == 2
    assert "expected one, got 2" in result.stderr
    assert attend("translate", "--checkpoint", tiny_checkpoint, stdin="Cat.").exit_code == 0


def test_json_of_a_line(attend: Attend, tiny_checkpoint: Path, expected: list[str]) -> None:
    result = attend("translate", "--checkpoint", tiny_checkpoint, "--json", stdin=SENTENCES[2])
    record = json.loads(result.stdout)
    tokenizer = load_checkpoint(tiny_checkpoint).tokenizer
    assert record.keys() - {"flags"} == {"text", "score", "token_ids", "tokens"}
    assert record["text"] == expected[2] == tokenizer.decode(record["token_ids"])
    assert record["tokens"] == [tokenizer.piece(token_id) for token_id in record["token_ids"]]
    assert record["score"] < 0


def test_a_translation_cut_at_the_limit_is_reported(attend: Attend, tiny_checkpoint: Path) -> None:
    result = attend("translate", "--checkpoint", tiny_checkpoint, "--json", stdin="\nA dog.\n")
    record = json.loads(result.stdout.splitlines()[1])
    assert "length_capped" in record["flags"]  # random weights rarely end a sentence
    assert result.stderr.startswith("attend: flags in 1 of 2 lines: ")
    assert "length_capped 1" in result.stderr
    assert result.stderr.endswith("; --flags lists them\n")


def test_target_sets_the_symbol(attend: Attend, tiny_checkpoint: Path, expected: list[str]) -> None:
    command = ("translate", "--checkpoint", tiny_checkpoint, "--json")
    forth = json.loads(attend(*command, "--target", "FR", stdin=SENTENCES[0]).stdout)
    back = json.loads(attend(*command, "--source", "fr", stdin=SENTENCES[0]).stdout)
    assert forth["text"] == expected[0]
    assert forth["score"] != back["score"]  # with another target-language symbol


@pytest.mark.parametrize(
    ("stdin", "printed", "reason"),
    [
        (b"A dog.\nA \xff\n", 1, "line 2: not UTF-8 (invalid start byte)"),
        (b"A dog.\n" + b"x" * 1_100_000, 1, "line 2: longer than 1,000,000 bytes"),
    ],
)
def test_bad_lines(
    attend: Attend, tiny_checkpoint: Path, stdin: bytes, printed: int, reason: str
) -> None:
    result = attend("translate", "--checkpoint", tiny_checkpoint, stdin=stdin)
    assert result.exit_code == 1
    assert result.stdout.count("\n") == printed
    assert result.stderr.splitlines()[-1].startswith(f"attend: {reason}")


def test_an_unsupported_language_is_refused(attend: Attend, tiny_checkpoint: Path) -> None:
    result = attend("translate", "--checkpoint", tiny_checkpoint, "--target", "de", stdin="x")
    assert result.exit_code == 1
    assert "does not translate into de; it translates en to fr, fr to en" in result.stderr
    assert "en to fr, fr to en" in result.stderr


ENGLISH, FRENCH = "The old cat sees a green house.", "La maison est verte et le chien est vieux."


def test_the_language_of_each_line_is_detected(attend: Attend, tiny_checkpoint: Path) -> None:
    command = ("translate", "--checkpoint", tiny_checkpoint)
    one_by_one = [
        attend(*command, "--source", source, stdin=line).stdout
        for source, line in (("en", ENGLISH), ("fr", FRENCH), ("en", "12"))
    ]
    lines = "\n".join([ENGLISH, FRENCH, "12"])
    assert attend(*command, "--source", "auto", stdin=lines).stdout == "".join(one_by_one)
    to_english = attend(*command, "--source", "AUTO", "--target", "en", stdin=lines)
    assert to_english.stdout == f"{ENGLISH}\n{one_by_one[1]}12\n"
    as_json = attend(*command, "--source", "auto", "--target", "en", "--json", stdin=lines)
    detected = [json.loads(line).get("detected") for line in as_json.stdout.splitlines()]
    assert [one and one["language"] for one in detected] == ["en", "fr", None]


def test_a_detected_language_that_is_not_translated_is_refused(
    attend: Attend, tiny_checkpoint: Path
) -> None:
    command = ("translate", "--checkpoint", tiny_checkpoint, "--source", "auto")
    lines = f"{ENGLISH}\nDas Wetter ist heute schön, und wir gehen spazieren.\n{FRENCH}\n"
    german = attend(*command, stdin=lines)
    assert (german.exit_code, german.stdout.count("\n")) == (1, 1)
    assert german.stderr.splitlines()[-1] == (
        "attend: line 2 seems to be in German (de); 'tiny' translates en to fr, fr to en"
    )
    unknown = attend(*command, "--target", "de", stdin=ENGLISH)
    assert "'tiny' does not translate into de; it translates en to fr" in unknown.stderr


def test_a_line_is_answered_before_the_next(tiny_checkpoint: Path, expected: list[str]) -> None:
    with start("translate", "--checkpoint", tiny_checkpoint, stdin=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for index in (0, 2):
            process.stdin.write(SENTENCES[index].encode() + b"\n")
            process.stdin.flush()
            assert process.stdout.readline().decode() == expected[index] + "\n"
        process.communicate(timeout=120)
    assert process.returncode == 0


class Handler(BaseHTTPRequestHandler):
    """Answers POST /translate with upper case, or with `answer`."""

    requests: ClassVar[list[dict[str, Any]]] = []
    answer: ClassVar[tuple[int, bytes] | None] = None

    keys: ClassVar[list[str | None]] = []

    def do_POST(self) -> None:
        self.keys.append(self.headers["Authorization"])
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append(body | {"path": self.path})
        translations = [
            {"text": text.upper(), "score": -1.0, "flags": ["length_capped"] if "!" in text else []}
            for text in body["text"]
        ]
        if body.get("source") == "auto":
            translations[0]["detected"] = {"language": "en", "confidence": 0.5}
        status, content = self.answer or (200, json.dumps({"translations": translations}).encode())
        self.reply(status, content)

    def reply(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        self.requests.append({"path": self.path})
        self.reply(*(self.answer or (200, b'{"directions": [["en", "fr"], ["fr", "en"]]}')))

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Handler, "requests", [])
    monkeypatch.setattr(Handler, "answer", None)
    monkeypatch.setattr(Handler, "keys", [])
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_server_gets_batches_without_empty_lines(attend: Attend, url: str) -> None:
    lines = [f"line {index}" for index in range(MAX_TEXTS + 1)]
    lines.insert(3, "")
    result = attend("translate", "--url", url, "--target", "fr", stdin="\n".join(lines))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [line.upper() for line in lines]
    assert [len(request["text"]) for request in Handler.requests] == [MAX_TEXTS, 1]
    first = Handler.requests[0]
    assert first["path"] == "/translate"
    assert first.keys() == {"path", "text", "target"}  # options that are not given are omitted


def test_a_server_that_does_not_run_is_reported_without_a_number(attend: Attend) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        result = attend("translate", "--url", url, "--source", "en", "--target", "fr", stdin="a\n")
    assert result.exit_code == 1
    assert result.stderr == f"attend: {url}/translate: Connection refused\n"


def test_the_api_key_is_sent(attend: Attend, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attend("translate", "--url", url, stdin="a\n")
    attend("translate", "--url", url, "--api-key", "mine", stdin="a\n")
    monkeypatch.setenv("ATTEND_API_KEYS", "new, old")
    attend("translate", "--url", url, stdin="a\n")
    assert Handler.keys == [None, "Bearer mine", "Bearer new"]


def test_a_servers_flags_are_passed_on(attend: Attend, url: str) -> None:
    search = ("--beam-size", "3", "--json", "--flags")
    result = attend("translate", "--url", url, *search, stdin="a\nb!\n")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"text": "A", "score": -1.0},
        {"text": "B!", "score": -1.0, "flags": ["length_capped"]},
    ]
    assert result.stderr == (
        "attend: line 2: length_capped\nattend: flags in 1 of 2 lines: length_capped 1\n"
    )
    detecting = attend("translate", "--url", url, "--json", "--source", "auto", stdin="a\nb\n")
    assert [json.loads(line).get("detected") for line in detecting.stdout.splitlines()] == [
        {"language": "en", "confidence": 0.5},
        None,
    ]
    info, translation, _ = Handler.requests
    assert info["path"] == "/info"  # no direction given: the first of the server
    assert (translation["source"], translation["target"], translation["beam_size"]) == (
        "en",
        "fr",
        3,
    )


@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [
        (404, b'{"title": "T", "detail": "it does not speak that"}', "404 it does not speak that"),
        (
            422,
            b'{"title": "T", "errors": [{"pointer": "/text", "detail": "too many"}]}',
            "422 T; /text: too many",
        ),
        (502, b"<html>", "502 Bad Gateway"),
        (500, b"[1]", "500 Internal Server Error"),
        (200, b"<html>", "not the answer of an attend server"),
        (200, b'{"translations": []}', "not the answer of an attend server"),
    ],
)
def test_failed_requests(
    attend: Attend, url: str, status: int, content: bytes, reason: str
) -> None:
    Handler.answer = (status, content)
    for direction, path in ((["--target", "fr"], "translate"), ([], "info")):
        result = attend("translate", "--url", url, *direction, stdin="a\n")
        assert result.exit_code == 1
        assert result.stderr == f"attend: {url}{path}: {reason}\n"


@pytest.mark.parametrize("bad", ["http://127.0.0.1:1", "ftp://example", "http://[", "nonsense"])
def test_a_server_that_is_not_there_is_reported_in_one_line(attend: Attend, bad: str) -> None:
    result = attend("translate", "--url", bad, "--target", "fr", stdin="a\n")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"attend: {bad}/translate: ")
    assert result.stderr.count("\n") == 1


def test_server_and_checkpoint_exclude_each_other(attend: Attend, tiny_checkpoint: Path) -> None:
    result = attend("translate", "--url", "http://x", "--checkpoint", tiny_checkpoint)
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


def test_numbers_are_corrected_or_flagged(
    attend: Attend, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def translated(garbled: Callable[[str], str]) -> tuple[str, str]:
        engine = GarblingEngine(folder=tiny_checkpoint, garbled=garbled)
        monkeypatch.setattr("model.translator.offline_engines", lambda *_: [engine])
        result = attend(
            "translate", "--checkpoint", tiny_checkpoint, "--flags", stdin="I see 42 dogs.\n"
        )
        assert result.exit_code == 0
        return result.stdout, result.stderr

    text, messages = translated(incremented)
    assert text == "I see 42 dogs.\n"
    assert "numbers" not in messages
    text, messages = translated(one_number)
    assert text == "I see 43 dogs.\n"
    assert "numbers" in messages
