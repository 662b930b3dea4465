"""A shelf of 100 random pairs of Firefox's smallest shape, with memory for some of them.

Regular clients use two pinned models all the time. Other clients alternate between two phases: in
the *loading* phase they use any model, most of which have to be loaded; in the *calm* phase they
send as many requests to loaded models. The latencies of the regular clients thus differ only by the
loads.
"""

import asyncio
import json
import random
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import httpx

from benchmarks.load import HOST, percentile
from benchmarks.options import Setup
from benchmarks.overload import Finding
from benchmarks.server import Server, attend_command, free_port, memory, start_at, stop
from model.interop.languages import Languages
from model.interop.marian_import import import_firefox
from tests.firefox_model import word_vocabulary, write_model

N_PAIRS, N_PIECES, N_PINNED, N_CLIENTS = 100, 32_000, 2, 3
MODEL_BYTES = 1_000_000_000
MARGIN_BYTES = 200_000_000
"""Memory of the process besides its models: requests and allocator."""
TOLERANCE = 1.5
"""Maximum p95 of pinned models during loads, relative to calm times."""
PHASE = 20.0


def make_shelf(folder: Path) -> list[str]:
    """Write the pairs, from and to English, and return the codes of their other languages."""
    source = folder / ".source"
    write_model(source, "tiny", (word_vocabulary(N_PIECES),), (N_PIECES, N_PIECES))
    first = folder / ".first"
    import_firefox(source, first, languages=Languages(["en"], ["fr"]))
    config = json.loads((first / "config.json").read_bytes())
    codes = [f"q{one}{two}" for one in "abcde" for two in "abcdefghij"][: N_PAIRS // 2]
    for pair in (pair for code in codes for pair in (["en", code], [code, "en"])):
        copy = folder / "-".join(pair)
        shutil.copytree(first, copy)
        (copy / "config.json").write_text(json.dumps(config | {"directions": [pair]}), "utf-8")
    return codes


@dataclass
class Load:
    """The clients of a server; start and end of the requests to pinned models."""

    client: httpx.AsyncClient
    codes: Sequence[str]
    ends: float
    is_loading: bool = True
    statuses: Counter[str] = field(default_factory=Counter)
    pinned: list[tuple[float, float, bool]] = field(default_factory=list)
    anonymous: list[int] = field(default_factory=list)
    recent: list[tuple[str, str]] = field(default_factory=list)

    async def ask(self, source: str, target: str, choose: random.Random) -> tuple[float, float]:
        def sentence() -> str:
            return " ".join(f"w{choose.randrange(2, N_PIECES)}" for _ in range(12)) + "."

        texts = [sentence() for _ in range(choose.choice((1, 1, 1, 5)))]
        body = {"text": texts, "source": source, "target": target, "max_target_tokens": 24}
        began = time.time()
        try:
            answer = await self.client.post("/translate", json=body)
            status = str(answer.status_code)
            if not answer.is_success:
                status += f" {answer.json()['type'].rpartition(':')[2]}"
        except httpx.HTTPError as error:
            status = type(error).__name__
        self.statuses[status] += 1
        return began, time.time()

    async def regular(self, seed: int) -> None:
        """Use the pinned models, from and to the first language."""
        choose = random.Random(seed)
        while time.time() < self.ends:
            phase, pair = self.is_loading, choose.sample(["en", self.codes[0]], 2)
            began, ended = await self.ask(pair[0], pair[1], choose)
            if phase is self.is_loading:
                self.pinned.append((began, ended, phase))
            await asyncio.sleep(choose.uniform(0.02, 0.08))

    async def changing(self, seed: int) -> None:
        """Use any model, or two in sequence, while loading; those used last while calm."""
        choose = random.Random(seed)
        while time.time() < self.ends:
            source, target = choose.sample(["en", *choose.sample(self.codes[1:], 2)], 2)
            if not self.is_loading and self.recent:
                source, target = choose.choice(self.recent)
            await self.ask(source, target, choose)
            if self.is_loading:
                self.recent = [*self.recent, (source, target)][-3:]
            await asyncio.sleep(choose.uniform(0.2, 0.4))

    async def run(self, pid: int) -> None:
        async def phases() -> None:
            while time.time() < self.ends:
                await asyncio.sleep(PHASE)
                self.is_loading = not self.is_loading

        async def watch() -> None:
            while time.time() < self.ends:
                self.anonymous.append(memory(pid, "RssAnon"))
                await asyncio.sleep(1)

        clients = [self.regular(seed) for seed in range(2)]
        clients += [self.changing(100 + seed) for seed in range(N_CLIENTS)]
        await asyncio.gather(phases(), watch(), *clients)


def loads_in(log: str) -> list[tuple[float, float, int]]:
    """Return start and end of each load in the server's log, and the bytes of all models then."""
    loads: list[tuple[float, float, int]] = []
    for line in re.findall(r'^\{.*"model loaded".*', log, re.MULTILINE):
        event = json.loads(line)
        end = datetime.fromisoformat(event["timestamp"]).timestamp()
        loads.append((end - event["seconds"], end, event["all_bytes"]))
    return loads


def shelf(setup: Setup, seconds: float) -> list[Finding]:
    """Translate with 100 pairs in 1 GB; nothing fails, and loads do not delay pinned models."""
    with tempfile.TemporaryDirectory() as parent, tempfile.NamedTemporaryFile() as log:
        codes = make_shelf(Path(parent))
        disk = sum(path.stat().st_size for path in Path(parent).glob("*-*/*"))
        flags = ["--models", parent, "--model-memory", str(MODEL_BYTES)]
        flags += ["--threads", str(setup.threads), "--sentence-cache-bytes", "0"]
        flags += ["--pin", f"en-{codes[0]}", "--pin", f"{codes[0]}-en"]
        command = [*attend_command(Path())[:2], *flags, "--port"]
        port = free_port()
        process = start_at(Server("shelf", str(setup.threads), command), port, log.fileno())
        try:
            before = memory(process.pid, "RssAnon")

            async def run() -> Load:
                limits = httpx.Limits(max_connections=None)
                url = f"http://{HOST}:{port}"
                async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as client:
                    load = Load(client, codes, time.time() + seconds)
                    await load.run(process.pid)
                return load

            load = asyncio.run(run())
        finally:
            stop(process)
        loads = loads_in(Path(log.name).read_text("utf-8"))

    def during_load(began: float, ended: float) -> bool:
        return any(start < ended and began < end for start, end, _ in loads)

    calm = [e - b for b, e, loading in load.pinned if not loading and not during_load(b, e)]
    loading = [e - b for b, e, _ in load.pinned if during_load(b, e)]
    of_calm, of_loading = percentile(calm, 95), percentile(loading, 95)
    others = {status: n for status, n in load.statuses.items() if status != "200"}
    which = f": {', '.join(others)}" if others else ""
    of_loads = [end - start for start, end, _ in loads]
    scenario = f"{N_PAIRS} pairs, {seconds:g} s"
    return [
        Finding(scenario, "requests answered", [load.statuses["200"]], seconds, least=True),
        Finding(scenario, f"other than 200{which}", [sum(others.values())], 0),
        Finding(scenario, "models loaded", [len(loads)], seconds / 10, least=True),
        Finding(scenario, "seconds of a load, p50", [percentile(of_loads, 50) / 1000], 1),
        Finding(scenario, "seconds of a load, most", [max(of_loads)], 30),
        Finding(scenario, "MB on disk", [disk / 1e6], 4000),
        Finding(scenario, "MB of all models, most", [max(n for *_, n in loads) / 1e6], 1050),
        Finding(
            scenario, "MB of the process beyond its start, most",
            [(max(load.anonymous) - before) / 1e6], (MODEL_BYTES + MARGIN_BYTES) / 1e6,
        ),
        Finding(scenario, "pinned p95, calm, ms", [of_calm], 5000),
        Finding(scenario, "pinned p95, beside loads, ms", [of_loading], 5000),
        Finding(scenario, "ratio of both, %", [100 * of_loading / of_calm], 100 * TOLERANCE),
    ]  # fmt: skip
