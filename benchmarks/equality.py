"""Checks that the server's translations under load equal those of the command line.

python -m benchmarks.equality --sentences tatoeba.test.tsv --reverse
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click
import httpx

from benchmarks.connection import HOST
from benchmarks.options import Setup, benchmark, setup_options
from benchmarks.report import Cell, Report
from benchmarks.sentences import read_sentences
from benchmarks.server import Server, running
from model.checkpoint.config import read_config

TIMEOUT = 120.0
CACHE_BYTES = 64_000_000
"""The server's default."""

COLUMNS = {
    "Direction": "", "Sentence cache": "", "Requests": ",d", "Sentences": ",d", "Different": ",d",
}  # fmt: skip
NOTES = (
    "`Different`: sentences whose translation by POST /translate differs from `attend translate`. "
    "With the cache, every sentence is requested twice, in random order, so that half of the "
    "responses come from the cache.",
)


def printed(checkpoint: Path, texts: Sequence[str], *flags: str) -> list[str]:
    """Return the output of `attend translate` for one-line texts. Raises `RuntimeError`."""
    done = subprocess.run(
        [Path(sys.executable).with_name("attend"), "translate", "--checkpoint", checkpoint, *flags],
        input="".join(f"{text}\n" for text in texts), capture_output=True, text=True, check=False,
        encoding="utf-8",
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"attend translate: {done.stderr[-2000:]}")
    return done.stdout.split("\n")[:-1]


async def answered(
    port: int, texts: Sequence[str], fields: Mapping[str, str], clients: int
) -> list[str]:
    """Return the translations by POST /translate, with one request per text."""
    places = asyncio.Semaphore(clients)
    limits = httpx.Limits(max_connections=clients)
    url = f"http://{HOST}:{port}/translate"
    async with httpx.AsyncClient(timeout=TIMEOUT, limits=limits) as client:

        async def ask(text: str) -> str:
            async with places:
                response = await client.post(url, json={"text": text, **fields})
            translated: str = response.raise_for_status().json()["translations"][0]["text"]
            return translated

        return await asyncio.gather(*map(ask, texts))


def compare(
    server: Server,
    wanted: Mapping[str, str],
    direction: tuple[str, str],
    clients: int,
    rounds: int,
) -> dict[str, Cell]:
    """Measure a row: all sentences are requested in every round, in random order."""
    asked = [*wanted] * rounds
    random.Random(1).shuffle(asked)
    fields = dict(zip(("source", "target"), direction, strict=True))
    with running(server) as one:
        found = asyncio.run(answered(one.port, asked, fields, clients))
    different = {text for text, answer in zip(asked, found, strict=True) if answer != wanted[text]}
    return {
        "Direction": " → ".join(direction),
        "Sentence cache": server.name,
        "Requests": len(asked),
        "Sentences": len(wanted),
        "Different": len(different),
    }


@benchmark
@setup_options
@click.option(
    "--reverse", is_flag=True, help="Also test the other direction, with the file's second column."
)
@click.option("--clients", type=click.IntRange(1), default=32)
def main(setup: Setup, *, reverse: bool, clients: int) -> None:
    """Translate all sentences by a server, concurrently, and compare with `attend translate`."""
    directions = read_config(setup.checkpoint).directions[: 2 if reverse else 1]
    flags = ["--threads", str(setup.threads), "--precision", setup.precision]
    off = replace(setup.server(), name="off")
    on = replace(setup.server("--sentence-cache-bytes", str(CACHE_BYTES)), name="on")
    rows = []
    for column, (source, target) in enumerate(directions):
        texts = list(dict.fromkeys(read_sentences(setup.sentences, column=column)))
        translations = printed(
            setup.checkpoint, texts, "--source", source, "--target", target, *flags
        )
        wanted = dict(zip(texts, translations, strict=True))
        for server, rounds in ((off, 1), (on, 2)):
            rows.append(compare(server, wanted, (source, target), clients, rounds))
    settings: dict[str, Cell] = {
        "sentences": setup.sentences.name, "clients": clients, "threads": setup.threads,
        "precision": setup.precision,
    }  # fmt: skip
    title = f"Equality with the command line: {setup.checkpoint.name}"
    setup.publish(Report("equality", title, settings, COLUMNS, rows, NOTES))
    sys.exit(1 if any(row["Different"] for row in rows) else 0)


if __name__ == "__main__":
    main()
