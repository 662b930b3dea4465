"""Hostile inputs and clients against a real server: what others notice, and what it keeps.

    python -m benchmarks.hostile_requests [--only text --only .docx …] [--sample 60]

Each parser gets a server of its own, `attend serve` with the shipped checkpoint. The generated
texts and files (`benchmarks.hostile_inputs`), as large as the server admits and a sixteenth of
that, are sent several at a time: with alignment, with attention, as streams, with a glossary, and
by clients that leave. Crowds of streams, and of clients that do not read their answers, follow
(`benchmarks.hostile_crowds`). Meanwhile /livez is probed on both ports, as an orchestrator would.
The exit code is 1 unless all promises hold.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import click

from app.settings import Settings
from benchmarks.attacked import COLUMNS, NOTES, Outcome, Seen, attacked
from benchmarks.connection import HOST
from benchmarks.hostile_crowds import CROWDS
from benchmarks.hostile_inputs import FORMS, Case, cases
from benchmarks.options import benchmark, checkpoint_option, json_option
from benchmarks.report import Cell, Report, publish

AT_A_TIME = 4
SMALLER = 16
"""One in two inputs has this part of the admitted size, so that it may be translated in time."""

AROUND = 100
"""Characters at most around a case's content, which count, too."""

LEAVES = 7
"""One client in so many leaves half a second after its request."""

OPTIONS: Sequence[dict[str, object]] = (
    {},
    {"stream": True},
    {"alignment": True, "beam_size": 4, "alternatives": 3},
    {"attention": {"layers": "last", "heads": "mean", "encoding": "base64"}},
    {"glossary": {"a": "b", "漢": "c", "(": "["}, "split_sentences": "nonewlines"},
    {"beam_size": 1, "split_sentences": False},
    {"source": "auto"},
)
"""Of texts; markup has no attention and no alignment."""


@dataclass(frozen=True)
class Attack:
    """A case, its size in characters, and with which options it is sent, by its number."""

    number: int
    case: Case
    size: int

    @property
    def leaves(self) -> bool:
        """Whether its client leaves before the answer."""
        return self.number % LEAVES == LEAVES - 1

    def request(self, deadline: float) -> tuple[str, bytes, dict[str, str]]:
        """Return path, body and headers."""
        content = self.case.make(self.size)
        if isinstance(content, bytes):
            return "/translate_file", *_form("a" + self.case.form, content)
        options = dict(OPTIONS[self.number % len(OPTIONS)])
        if self.case.form != "text":
            options.pop("alignment", None)
            options.pop("attention", None)
        fields = {"text": content, "source": "en", "target": "fr", "format": self.case.form}
        body = json.dumps(fields | options, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", "X-Request-Timeout": f"{deadline:g}"}
        return "/translate", body, headers


def _form(name: str, content: bytes) -> tuple[bytes, dict[str, str]]:
    boundary = "hostile-inputs-boundary"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in (("source", "en"), ("target", "fr"))
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = b"".join([*parts, head.encode(), content, f"\r\n--{boundary}--\r\n".encode()])
    accept = "application/octet-stream"
    return body, {"Content-Type": f"multipart/form-data; boundary={boundary}", "Accept": accept}


def attacks(form: str, sample: int | None) -> list[Attack]:
    """Return a parser's cases, as large as the server admits and smaller, in a fixed order.

    sample  that many of them at most, half of them with the parser's own delimiters
    """
    own = [case.name for case in cases(form, is_own=True)]
    found = {case.name: case for case in cases(form)}
    others = [name for name in found if name not in own]
    order = random.Random(form)
    order.shuffle(own)
    order.shuffle(others)
    if sample is not None and sample < len(found):
        n_own = min(len(own), max(sample // 2, sample - len(others)))
        own, others = own[:n_own], others[: sample - n_own]
    return [
        Attack(number, found[name], _largest(found[name]) // (1, SMALLER)[number % 2])
        for number, name in enumerate([*own, *others])
    ]


def _largest(case: Case) -> int:
    """Return the number of characters for which a case is as large as the limits admit."""
    limits = Settings.model_fields
    n_characters: int = limits[
        "max_file_characters" if case.form[0] == "." else "max_text_characters"
    ].default
    n_characters -= AROUND
    if case.form == ".docx":  # packed, a repeated unit of any length is small
        return n_characters
    content = case.make(2000)
    is_file = isinstance(content, bytes)
    n_bytes = len(content if is_file else json.dumps(content, ensure_ascii=False).encode()) / 2000
    return min(n_characters, int(0.95 * _body_limit(case.form) / n_bytes))


def _body_limit(form: str) -> int:
    limit: int = Settings.model_fields[
        "max_file_bytes" if form[0] == "." else "max_body_bytes"
    ].default
    return limit


def send(port: int, attack: Attack, deadline: float, seen: Seen) -> None:
    """Send one, and read its answer to the end; or leave."""
    path, body, headers = attack.request(deadline)
    what = f"{attack.case.form} {attack.case.name} × {attack.size:,}"
    connection = http.client.HTTPConnection(HOST, port, timeout=deadline + 60)
    try:
        connection.request("POST", path, body, headers)
        began = time.perf_counter()
        if attack.leaves:
            time.sleep(0.5)
            seen.left += 1
            return
        answer = connection.getresponse()
        content = answer.read()
    except (OSError, http.client.HTTPException) as error:
        seen.broken += 1
        click.echo(f"{what}: {type(error).__name__}")
        return
    finally:
        connection.close()
    now = time.perf_counter()
    seen.answers.append((now, now - began - deadline, what))
    seen.statuses[answer.status] += 1
    if answer.status in (422, 500):
        click.echo(f"{what}: {answer.status} {content[:300]!r}")


def parser_attacked(form: str, checkpoint: Path, deadline: float, sample: int | None) -> Outcome:
    """Send a parser's inputs, several at a time."""
    flags = ("--file-timeout", str(deadline))
    with (
        attacked(form, checkpoint, *flags, body_limit=_body_limit(form)) as server,
        ThreadPoolExecutor(AT_A_TIME) as clients,
    ):
        for _ in clients.map(
            lambda one: send(server.port, one, deadline, server.seen), attacks(form, sample)
        ):
            pass
    return server.concluded()


@benchmark
@checkpoint_option
@click.option(
    "--only", type=click.Choice([*FORMS, *CROWDS]), multiple=True, help="Attacks [default: all]."
)
@click.option("--sample", type=click.IntRange(1), help="Cases of each parser [default: all].")
@click.option(
    "--deadline", type=click.FloatRange(1), default=10.0,
    help="Seconds, of requests and of files.",
)  # fmt: skip
@json_option
def main(
    *,
    checkpoint: Path,
    only: Sequence[str],
    sample: int | None,
    deadline: float,
    json_file: Path | None,
) -> None:
    """Attack `attend serve`; exit with code 1 unless all promises hold."""
    outcomes = []
    for name in only or (*FORMS, *CROWDS):
        if name in CROWDS:
            outcome = CROWDS[name](checkpoint, deadline)
        else:
            outcome = parser_attacked(name, checkpoint, deadline, sample)
        outcomes.append(outcome)
        click.echo(f"{outcome.name}: {'; '.join(outcome.broken) or 'all promises hold'}")
    settings: dict[str, Cell] = {
        "checkpoint": checkpoint.name, "deadline": deadline, "sample": sample or "all",
        "at a time": AT_A_TIME, "load average": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    rows = [outcome.row() for outcome in outcomes]
    report = Report("hostile_requests", "Hostile requests", settings, COLUMNS, rows, NOTES)
    publish(report, json_file)
    sys.exit(1 if any(outcome.broken for outcome in outcomes) else 0)


if __name__ == "__main__":
    main()
