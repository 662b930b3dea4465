"""Sends hostile inputs to `attend serve`, with clients that disconnect or do not read.

    python -m benchmarks.hostile_requests [--only text --only .docx …] [--sample 60]

Each parser gets a server of its own with the default settings. The cases of
`benchmarks.hostile_inputs`, as large as the server admits and a sixteenth of that, are sent several
at a time with different options. The crowds of `benchmarks.hostile_crowds` follow. Meanwhile
/livez is probed on both ports. The exit code is 1 unless all bounds hold.
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
"""Every second input has this fraction of the admitted size, so that it may finish in time."""

MARGIN = 100
"""Maximum number of characters that a format adds to a case's content."""

LEAVES_EVERY = 7
"""One client in this number disconnects half a second after its request."""

OPTIONS: Sequence[dict[str, object]] = (
    {},
    {"stream": True},
    {"alignment": True, "beam_size": 4, "alternatives": 3},
    {"attention": {"layers": "last", "heads": "mean", "encoding": "base64"}},
    {"glossary": {"a": "b", "漢": "c", "(": "["}, "split_sentences": "nonewlines"},
    {"beam_size": 1, "split_sentences": False},
    {"source": "auto"},
)
"""Options of requests for texts; markup excludes attention and alignment."""


@dataclass(frozen=True)
class Attack:
    """A case and its size in characters; the number determines the options."""

    number: int
    case: Case
    size: int

    @property
    def leaves(self) -> bool:
        """Whether its client disconnects before the answer."""
        return self.number % LEAVES_EVERY == LEAVES_EVERY - 1

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
    """Return a parser's cases in a fixed order.

    sample  maximum number of cases; half of them have the parser's own delimiters
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
    """Return the largest number of characters that the limits admit."""
    limits = Settings.model_fields
    n_characters: int = limits[
        "max_file_characters" if case.form[0] == "." else "max_text_characters"
    ].default
    n_characters -= MARGIN
    if case.form == ".docx":  # a repeated unit compresses well
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
    """Send one, and read its answer to the end or disconnect."""
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
        seen.failed += 1
        click.echo(f"{what}: {type(error).__name__}")
        return
    finally:
        connection.close()
    seen.answers.append((time.perf_counter() - began - deadline, what))
    seen.statuses[answer.status] += 1
    if answer.status in (422, 500):
        click.echo(f"{what}: {answer.status} {content[:300]!r}")


def parser_attacked(form: str, checkpoint: Path, deadline: float, sample: int | None) -> Outcome:
    """Send a parser's inputs, `AT_A_TIME` at a time."""
    flags = ("--file-timeout", str(deadline))
    with (
        attacked(form, checkpoint, *flags, body_limit=_body_limit(form)) as server,
        ThreadPoolExecutor(AT_A_TIME) as clients,
    ):
        sent = [
            clients.submit(send, server.port, attack, deadline, server.seen)
            for attack in attacks(form, sample)
        ]
        for one in sent:
            one.result()
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
    """Attack `attend serve`; exit with code 1 unless all bounds hold."""
    outcomes = []
    for name in only or (*FORMS, *CROWDS):
        if name in CROWDS:
            outcome = CROWDS[name](checkpoint, deadline)
        else:
            outcome = parser_attacked(name, checkpoint, deadline, sample)
        outcomes.append(outcome)
        click.echo(f"{outcome.name}: {'; '.join(outcome.violations) or 'all bounds hold'}")
    settings: dict[str, Cell] = {
        "checkpoint": checkpoint.name, "deadline": deadline, "sample": sample or "all",
        "at a time": AT_A_TIME, "load average": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    rows = [outcome.row() for outcome in outcomes]
    report = Report("hostile_requests", "Hostile requests", settings, COLUMNS, rows, NOTES)
    publish(report, json_file)
    sys.exit(1 if any(outcome.violations for outcome in outcomes) else 0)


if __name__ == "__main__":
    main()
