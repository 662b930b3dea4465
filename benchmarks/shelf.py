"""A shelf of models under random load, with memory for a few of them at a time.

python -m benchmarks.shelf --models 40 --memory-for 8 --seconds 600

Regular clients use a few pinned models all the time. Beside them, other clients translate in two
alternating phases: while *loading*, with any model at random, most of which have to be loaded;
while *calm*, as often, with models that are loaded. So the times of the regular clients differ by
the loads alone, and by nothing that the machine does meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import click
import httpx
import numpy as np
import torch

from app.languages.served import NAMES
from benchmarks.connection import HOST
from benchmarks.options import benchmark, json_option, threads_option, work_option
from benchmarks.report import Cell, Report, publish
from benchmarks.sentences import FIXTURE, read_sentences
from benchmarks.server import Server, free_port, start_at
from model.checkpoint.config import CheckpointConfig
from model.checkpoint.writer import save_checkpoint
from model.engine.memory import expected_bytes
from model.text.tokenizer import Tokenizer
from model.training.data.vocabulary import train_tokenizer
from model.transformer.config import PRESETS, vocabulary_fields
from model.transformer.transformer import Transformer

PHASE = 20.0
"""Seconds; a pair of phases is short enough that the machine is the same in both."""
PINNED = 2
TOLERANCE = 1.5
"""Maximum 95th percentile while models are loaded, relative to calm times."""
MARGIN_BYTES = 100_000_000
"""Memory of the process beside its models: the requests, the code, the allocator's remainders."""
MAX_TARGET_TOKENS = 24
COLUMNS = {
    "Models": ",d", "Minutes": ".1f", "Requests": ",d", "Errors": ",d", "Loads": ",d",
    "Let go": ",d", "Load median s": ".2f", "Limit MB": ",.0f", "Models MB": ",.0f",
    "Process MB": ",.0f", "p50 calm ms": ".1f", "p50 loading ms": ".1f", "p95 calm ms": ".1f",
    "p95 loading ms": ".1f", "Ratio": ".2f",
}  # fmt: skip
NOTES = (
    "`Models MB` is the most that the loaded models held, `Process MB` the most that the process "
    "held beyond what it holds without models. p50 and p95 are of requests for pinned models that "
    "overlap with a load, and of those in calm phases; `Ratio` is of the two p95.",
)


def make_shelf(folder: Path, n_models: int, preset: str) -> None:
    """Write models from English to as many languages, with random weights and one vocabulary."""
    languages = [code for code in NAMES if code != "en"]
    targets = (languages + [f"x{chr(97 + n)}" for n in range(26)])[:n_models]
    if len(list(folder.glob("en-*"))) == n_models:
        return
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = folder / "vocabulary.model"
    sentences = read_sentences(FIXTURE) * 20
    train_tokenizer(iter(sentences), sorted({"en", *targets}), 480, vocabulary)
    tokenizer = Tokenizer.load(vocabulary)
    shape = PRESETS[preset].model_copy(
        update=vocabulary_fields(tokenizer.vocab_size, tokenizer.pad_id, tokenizer.eos_id)
    )
    for seed, target in enumerate(targets):
        torch.manual_seed(seed)
        name = f"en-{target}"
        config = CheckpointConfig(
            name=name, directions=[("en", target)], beam_size=2, transformer=shape
        )
        weights = dict(Transformer(shape).named_parameters())
        save_checkpoint(folder / name, config, weights, tokenizer, f"# {name}\n\nNoise.", {})


@dataclass
class Seen:
    """What the clients saw: begin and end of each request for a pinned model, and statuses."""

    pinned: list[tuple[float, float, bool]] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    processes: list[int] = field(default_factory=list)
    models: list[float] = field(default_factory=list)


@dataclass
class Shelf:
    """The load on a server; `loading` says which phase it is."""

    client: httpx.AsyncClient
    targets: Sequence[str]
    sentences: Sequence[str]
    ends: float
    seen: Seen = field(default_factory=Seen)
    recent: list[str] = field(default_factory=list)
    loading: bool = True

    async def ask(self, target: str, choose: random.Random) -> tuple[float, float]:
        """Translate a random sentence; return when it began and ended."""
        body = {
            "text": choose.choice(self.sentences), "source": "en", "target": target,
            "max_target_tokens": MAX_TARGET_TOKENS,
        }  # fmt: skip
        began = time.time()
        try:
            answer = await self.client.post("/translate", json=body)
            status = str(answer.status_code)
        except httpx.HTTPError as error:
            status = type(error).__name__
        self.seen.statuses[status] += 1
        return began, time.time()

    async def regular(self, seed: int) -> None:
        """Use the pinned models."""
        choose = random.Random(seed)
        while time.time() < self.ends:
            phase = self.loading
            began, ended = await self.ask(choose.choice(self.targets[:PINNED]), choose)
            if phase is self.loading:
                self.seen.pinned.append((began, ended, phase))
            await asyncio.sleep(choose.uniform(0.02, 0.08))

    async def changing(self, seed: int) -> None:
        """Use any model while loading, loaded ones while calm."""
        choose = random.Random(seed)
        while time.time() < self.ends:
            among = self.targets[PINNED:] if self.loading else self.recent or self.targets[:PINNED]
            target = choose.choice(among)
            await self.ask(target, choose)
            if self.loading:
                self.recent = [*(one for one in self.recent if one != target), target][-3:]
            await asyncio.sleep(choose.uniform(0.2, 0.4))

    async def phases(self) -> None:
        """Alternate."""
        while time.time() < self.ends:
            await asyncio.sleep(PHASE)
            self.loading = not self.loading

    async def watch(self, pid: int, admin: httpx.AsyncClient) -> None:
        """Sample the memory of the process and of its models."""
        while time.time() < self.ends:
            self.seen.processes.append(resident(pid))
            text = (await admin.get("/metrics")).text
            held = [
                float(line.rpartition(" ")[2])
                for line in text.splitlines()
                if line.startswith("attend_model_memory_bytes{")
            ]
            self.seen.models.append(sum(held))
            await asyncio.sleep(1)

    async def run(self, n_clients: int, pid: int, admin: httpx.AsyncClient) -> None:
        """All of it."""
        await asyncio.gather(
            self.phases(),
            self.watch(pid, admin),
            *(self.regular(seed) for seed in range(2)),
            *(self.changing(100 + seed) for seed in range(n_clients)),
        )


def resident(pid: int) -> int:
    """Bytes of a process that belong to it alone, and not to files that it has mapped."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return next(1024 * int(line.split()[1]) for line in status if line.startswith("RssAnon:"))


def loads_in(log: str) -> list[tuple[float, float]]:
    """Begin and end of each load, by the server's log."""
    loads = []
    for line in log.splitlines():
        if '"model loaded"' in line:
            event = json.loads(line)
            end = datetime.fromisoformat(event["timestamp"]).timestamp()
            loads.append((end - event["seconds"], end))
    return loads


def times_of(seen: Seen, loads: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Seconds of requests for pinned models: in calm phases, and beside a load."""

    def beside_a_load(began: float, ended: float) -> bool:
        return any(first < ended and began < last for first, last in loads)

    calm = [e - b for b, e, loading in seen.pinned if not loading and not beside_a_load(b, e)]
    loading = [e - b for b, e, _ in seen.pinned if beside_a_load(b, e)]
    return calm, loading


@benchmark
@click.option("--models", "n_models", type=click.IntRange(4), default=40)
@click.option("--memory-for", type=click.IntRange(3), default=8)
@click.option("--preset", default="small")
@click.option("--seconds", type=click.FloatRange(60), default=600.0)
@click.option("--clients", type=click.IntRange(1), default=3)
@threads_option
@work_option
@json_option
def main(
    *,
    n_models: int,
    memory_for: int,
    preset: str,
    seconds: float,
    clients: int,
    threads: int,
    work: Path,
    json_file: Path | None,
) -> None:
    """Check that a shelf answers everything, within its memory, and that a load delays nobody."""
    folder = work / f"shelf-{preset}-{n_models}"
    make_shelf(folder, n_models, preset)
    names = sorted(path.name for path in folder.glob("en-*"))
    shape = CheckpointConfig.model_validate_json((folder / names[0] / "config.json").read_bytes())
    limit = int((memory_for + 0.5) * expected_bytes(shape.transformer, "auto", threads))
    admin_port = free_port()
    command = [
        str(Path(sys.executable).with_name("attend")), "serve", "--models", str(folder),
        "--model-memory", str(limit), "--threads", str(threads), "--log-level", "info",
        "--sentence-cache-bytes", "0", "--admin-port", str(admin_port),
        *(flag for name in names[:PINNED] for flag in ("--pin", name)), "--port",
    ]  # fmt: skip
    port = free_port()
    with tempfile.NamedTemporaryFile() as log:
        process = start_at(Server("shelf", str(threads), command), port, log.fileno())
        try:
            before = resident(process.pid)
            shelf = asyncio.run(_load((port, admin_port), process, names, seconds, clients))
        finally:
            process.terminate()
            process.wait(timeout=60)
        said = Path(log.name).read_text("utf-8")
    seen = shelf.seen
    loads = loads_in(said)
    calm, loading = times_of(seen, loads)
    click.echo(f"{dict(seen.statuses)}; {len(calm)} calm and {len(loading)} beside a load")
    if not calm or not loading:
        raise click.ClickException("no request in one of the phases: take more --seconds")
    errors = sum(n for status, n in seen.statuses.items() if status != "200")
    p50, p95 = (
        [1000 * float(np.percentile(one, percent)) for one in (calm, loading)]
        for percent in (50, 95)
    )
    grown = max(seen.processes) - (before - seen.models[0])  # the pinned ones were loaded before
    values = [
        n_models, seconds / 60, seen.statuses.total(), errors, len(loads),
        said.count('"model let go"'), float(np.median([end - begin for begin, end in loads])),
        limit / 1e6, max(seen.models) / 1e6, grown / 1e6, *p50, *p95, p95[1] / p95[0],
    ]  # fmt: skip
    title = f"A shelf: {n_models} models of preset {preset}, memory for {memory_for} of them"
    settings: dict[str, Cell] = {
        "models": n_models, "memory for": memory_for, "preset": preset, "seconds": seconds,
        "clients": clients, "threads": threads, "limit": limit,
    }  # fmt: skip
    row = dict(zip(COLUMNS, values, strict=True))
    publish(Report("shelf", title, settings, COLUMNS, [row], NOTES), json_file)
    held = max(seen.models) <= limit and grown <= limit + MARGIN_BYTES
    if errors or not held or p95[1] > TOLERANCE * p95[0]:
        raise SystemExit(1)


async def _load(
    ports: tuple[int, int],
    process: subprocess.Popen[bytes],
    names: Sequence[str],
    seconds: float,
    n_clients: int,
) -> Shelf:
    urls = [f"http://{HOST}:{port}" for port in ports]
    async with (
        httpx.AsyncClient(base_url=urls[0], timeout=60) as client,
        httpx.AsyncClient(base_url=urls[1], timeout=60) as admin,
    ):
        targets = [name.removeprefix("en-") for name in names]
        shelf = Shelf(client, targets, read_sentences(FIXTURE), time.time() + seconds)
        await shelf.run(n_clients, process.pid, admin)
    return shelf


if __name__ == "__main__":
    main()
