"""Sends hostile inputs to `attend serve`, with clients that disconnect or do not read.

    python -m benchmarks.hostile_requests [--only text --only .docx …] [--sample 60]

Each parser gets a server of its own with the default settings. The cases of
`benchmarks.hostile_inputs`, as large as the server admits and a sixteenth of that, are sent several
at a time with different options. Groups of clients follow: many long streams, many answers that are
not read, `benchmarks.hostile_connections` and `benchmarks.hostile_json`. Meanwhile /livez is probed
on both ports. The exit code is 1 unless all bounds hold.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import click
import httpx

from app.server.connections import ConnectionLimits
from app.settings import Settings
from benchmarks.attacked import AT_A_TIME, COLUMNS, NOTES, Attacked, attacked, exchange
from benchmarks.hostile_connections import ATTACKS, attacked_by
from benchmarks.hostile_inputs import COMPRESSED, FORMS, Case, cases
from benchmarks.hostile_json import KINDS, attacked_by_json
from benchmarks.load import HOST, request_bytes
from benchmarks.options import benchmark, checkpoint_option, json_option
from benchmarks.report import Cell, Report, publish

N_STREAMS, STREAM_CHARACTERS = 200, 98_000
N_UNREAD = 100

N_PROBES = 4
"""Maximum number of open connections of the probes."""

SMALLER = 16
"""Every second input has this fraction of the admitted size, so that it may finish in time."""

MARGIN = 100
"""Maximum number of characters that a format adds to a case's content."""

DISCONNECT_EVERY = 7
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
        return self.number % DISCONNECT_EVERY == DISCONNECT_EVERY - 1

    def request(self, deadline: float) -> httpx.Request:
        """Return the request, without a port."""
        content = self.case.make(self.size)
        fields = {"source": "en", "target": "fr"}
        url = f"http://{HOST}/translate"
        if isinstance(content, bytes):
            file = {"file": ("a" + self.case.form, content)}
            accept = {"Accept": "application/octet-stream"}
            return httpx.Request("POST", f"{url}_file", data=fields, files=file, headers=accept)
        options = dict(OPTIONS[self.number % len(OPTIONS)])
        if self.case.form != "text":
            options.pop("alignment", None)
            options.pop("attention", None)
        body = fields | {"text": content, "format": self.case.form} | options
        headers = {"X-Request-Timeout": f"{deadline:g}"}
        return httpx.Request("POST", url, json=body, headers=headers)


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
        Attack(number, found[name], largest(found[name]) // (1, SMALLER)[number % 2])
        for number, name in enumerate([*own, *others])
    ]


def largest(case: Case) -> int:
    """Return the largest number of characters that the limits admit."""
    n_characters = _limit(case.form, "max_file_characters", "max_text_characters") - MARGIN
    if case.form in COMPRESSED:  # a repeated unit compresses well
        return n_characters
    content = case.make(2000)
    is_file = isinstance(content, bytes)
    n_bytes = len(content if is_file else json.dumps(content, ensure_ascii=False).encode()) / 2000
    return min(n_characters, int(0.95 * _body_limit(case.form) / n_bytes))


def _body_limit(form: str) -> int:
    return _limit(form, "max_file_bytes", "max_body_bytes")


def _limit(form: str, for_files: str, for_text: str) -> int:
    limit: int = Settings.model_fields[for_files if form[0] == "." else for_text].default
    return limit


def send(attack: Attack, deadline: float, attacked: Attacked) -> None:
    """Send one, and read its answer to the end or disconnect."""
    what = f"{attack.case.form} {attack.case.name} × {attack.size:,}"
    request = attack.request(deadline)
    exchange(request, what, deadline, attacked, leaves=attack.leaves, printed=(422, 500))


def parser_attacked(form: str, checkpoint: Path, deadline: float, sample: int | None) -> Attacked:
    """Send a parser's inputs, `AT_A_TIME` at a time."""
    flags = ("--file-timeout", str(deadline))
    with (
        attacked(form, checkpoint, *flags, body_limit=_body_limit(form)) as server,
        ThreadPoolExecutor(AT_A_TIME) as clients,
    ):
        sent = [clients.submit(send, attack, deadline, server) for attack in attacks(form, sample)]
        for one in sent:
            one.result()
    return server


def many_streams(checkpoint: Path, deadline: float, n_streams: int = N_STREAMS) -> Attacked:
    """Request many long streams at once, and read them all."""

    async def read_stream(number: int) -> None:
        sentence = f"The dog number {number} saw the old house. "
        text = (sentence * STREAM_CHARACTERS)[:STREAM_CHARACTERS]
        reader, writer = await asyncio.open_connection(HOST, attack.port, limit=2**20)
        writer.write(_post(deadline, text=text, stream=True))
        began = time.perf_counter()
        status = (await reader.readline()).split()[1:2]
        while await reader.read(2**16):
            pass
        writer.close()
        attack.statuses[int(status[0])] += 1
        attack.answers.append((time.perf_counter() - began - deadline, "a stream"))

    async def read_all() -> None:
        await asyncio.gather(*map(read_stream, range(n_streams)))

    with attacked(f"{n_streams} streams of 98 kB", checkpoint) as attack:
        asyncio.run(read_all())
    return attack


def unread_streams(checkpoint: Path, deadline: float, n_clients: int = N_UNREAD) -> Attacked:
    """Request large answers, half of them as streams, and read none until they are closed."""
    limit = deadline + ConnectionLimits.write_timeout

    async def request_all() -> None:
        n_before = attack.n_sockets()
        began = time.perf_counter()
        writers = []
        for number in range(n_clients):
            reader, writer = await asyncio.open_connection(HOST, attack.port, limit=1024)
            reader._transport.pause_reading()  # type: ignore[attr-defined]
            texts, stream = ["a house"] * 10_000, number % 2 == 0
            writer.write(_post(deadline, text=texts, beam_size=1, stream=stream))
            writers.append(writer)
        # Only the server can see that it closed a connection before unread data.
        while (n_open := attack.n_sockets() - n_before) > N_PROBES and (
            time.perf_counter() - began < limit + 30
        ):
            await asyncio.sleep(0.5)
        late = time.perf_counter() - began - limit
        attack.answers.append((late, f"connections still open: {n_open}"))
        attack.left += n_clients
        for writer in writers:
            writer.transport.abort()

    with attacked(f"{n_clients} large answers, unread", checkpoint) as attack:
        asyncio.run(request_all())
    return attack


def _post(deadline: float, **fields: object) -> bytes:
    headers = {"X-Request-Timeout": f"{deadline:g}", "Connection": "close"}
    return request_bytes({"source": "en", "target": "fr"} | fields, headers)


CLIENT_GROUPS: dict[str, Callable[[Path, float], Attacked]] = {
    "streams": many_streams,
    "unread": unread_streams,
}
GROUPS = {"connections": ATTACKS, "json": KINDS}
"""Every attack of `benchmarks.hostile_connections`, and of `benchmarks.hostile_json`."""


@benchmark
@checkpoint_option
@click.option(
    "--only",
    type=click.Choice([*FORMS, *CLIENT_GROUPS, *GROUPS]),
    multiple=True,
    help="Attacks [default: all].",
)
@click.option("--sample", type=click.IntRange(1), help="Cases per parser [default: all].")
@click.option(
    "--deadline", type=click.FloatRange(1), default=10.0,
    help="Deadline of requests and files in seconds.",
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
    chosen = only or (*FORMS, *CLIENT_GROUPS, *GROUPS)
    for name in chain.from_iterable(GROUPS.get(name, [name]) for name in chosen):
        if name in CLIENT_GROUPS:
            outcome = CLIENT_GROUPS[name](checkpoint, deadline)
        elif name in ATTACKS:
            outcome = attacked_by(name, checkpoint)
        elif name in KINDS:
            outcome = attacked_by_json(name, checkpoint, deadline)
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
