"""A GPU in one call of at most ten minutes: equality, throughput against peers, bandwidth.

python -m benchmarks.gpu                     the first GPU, a base-size model
python -m benchmarks.gpu --device cpu --preset tiny --count 8 --rounds 1
"""

import statistics
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import click
import torch

from benchmarks.decode import measure, rows_of
from benchmarks.natural import lengths_of_sentences, sources_of_lengths, write_natural
from benchmarks.options import benchmark, json_option, peers_option, rounds_option, work_option
from benchmarks.report import Cell, Report, publish
from benchmarks.sentences import FIXTURE, read_sentences
from benchmarks.system import Attend, System, Task
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines
from model.engine.device import pick_device
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, PrecisionChoice
from model.transformer.config import PRESETS

N_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
"""Bytes of a weight, by precision."""

COPY_BYTES = 2**28
"""Copied to measure the bandwidth of the device's memory."""

BEAM, BATCH, N_FITTED = 4, 64, 96

BUDGET = 420.0
"""Seconds after which no new measurement starts, so that a call stays within ten minutes."""

COLUMNS = {
    "Beam": "d", "Batch": "d", "System": "", "Tokens/s": ",.0f", "from": ",.0f", "to": ",.0f",
    "attend is": ".2f", "Same": ".1%", "Bandwidth": ".1%",
}  # fmt: skip
NOTES = (
    "`attend is`: how many times as fast as the system attend in bfloat16 is, the median of the "
    "rounds' ratios. `Same`: sentences with its token ids. `Bandwidth`, at batch 1: bytes of "
    "weights that a token reads × tokens per second, in parts of what a copy within the device's "
    "memory reads and writes.",
)


def natural_checkpoint(preset: str, sentences: Sequence[str], work: Path) -> Path:
    """Write random weights of a preset with natural lengths, once."""
    folder = work / f"gpu-{preset}"
    if not folder.exists():
        work.mkdir(parents=True, exist_ok=True)
        write_natural(folder, preset, None, sentences, N_FITTED)
    return folder


def n_equal(loaded: Checkpoint, device: str, task: Task) -> int:
    """Return for how many sentences float32 gives the reference's ids on the device."""
    ours = _attend(loaded, device, "fp32").answer(task)
    reference: list[Engine] = [EagerEngine(load_model(loaded, device))]
    pairs = zip(ours.targets, Attend(reference).answer(task).targets, strict=True)
    return sum(one == other for one, other in pairs)


def _attend(loaded: Checkpoint, device: str, precision: PrecisionChoice) -> Attend:
    """Return the torch engine, on a CPU too."""
    placed = "cpu:0" if device == "cpu" else device
    return Attend(build_engines(loaded, precision, torch.get_num_threads(), devices=(placed,)))


def copy_bandwidth(device: str) -> float:
    """Return the bytes per second that a copy within the device's memory reads and writes."""
    source = torch.empty(COPY_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    kind = torch.device(device).type
    seconds = []
    for _ in range(10):
        began = time.perf_counter()
        target.copy_(source)
        if kind != "cpu":
            getattr(torch, kind).synchronize()
        seconds.append(time.perf_counter() - began)
    return 2 * COPY_BYTES / statistics.median(seconds)


def weights_of_a_token(loaded: Checkpoint) -> int:
    """Return how many weights one step of the decoder reads."""
    shape = loaded.config.transformer
    # Queries, keys, values, outputs; queries and outputs over the memory; feed-forward.
    layer = 6 * shape.d_model**2 + 2 * shape.d_model * shape.d_ff_of_decoder
    return shape.n_decoder_layers * layer + shape.target_vocab_size * shape.d_model


def make_systems(loaded: Checkpoint, device: str, work: Path, *, peers: bool) -> Iterator[System]:
    """Yield attend in every precision, and the peers that are installed, in half precision."""
    yield _attend(loaded, device, "bf16")
    on_cuda, threads = device.startswith("cuda"), torch.get_num_threads()
    if peers and find_spec("ctranslate2") and (on_cuda or device == "cpu"):
        from benchmarks.peers import CTranslate2

        kind = "float16" if on_cuda else "float32"
        yield CTranslate2.of(
            loaded, work, kind, inter_threads=1, intra_threads=threads, device=device
        )
    if peers and find_spec("transformers"):
        from benchmarks.peers import HuggingFace

        dtype = torch.float16 if on_cuda else torch.float32
        yield HuggingFace(loaded, work, threads, device, dtype)
    yield _attend(loaded, device, "fp16")
    yield _attend(loaded, device, "fp32")


def rows_for(
    systems: Sequence[System], tasks: Sequence[Task], rounds: int, n_weights: int, limit: float
) -> Iterator[dict[str, object]]:
    """Yield a row for each task and system, tasks as long as there is time."""
    end = time.monotonic() + BUDGET
    for task in tasks:
        if time.monotonic() > end:
            click.echo("out of time: a task was skipped")
            return
        timings = measure(systems, task, rounds)
        for row, timing in zip(rows_of(task, timings), timings, strict=True):
            project, precision = timing.system.name.split()
            if task.batch == 1 and project == "attend":
                rate = statistics.median(timing.rates)
                row["Bandwidth"] = N_BYTES[precision] * n_weights * rate / limit
            yield row


@benchmark
@click.option("--device", default="auto", help="One, as in `attend serve`.")
@click.option("--preset", type=click.Choice(list(PRESETS)), default="base", help="Shape.")
@click.option("--count", type=click.IntRange(4), default=256, help="Number of sentences.")
@rounds_option(3)
@peers_option
@work_option
@json_option
def main(
    *,
    device: str,
    preset: str,
    count: int,
    rounds: int,
    peers: bool,
    work: Path,
    json_file: Path | None,
) -> None:
    """Measure the torch engine on one device."""
    device = pick_device(device)
    sentences = read_sentences(FIXTURE, max(count, N_FITTED))
    loaded = load_checkpoint(natural_checkpoint(preset, sentences, work))
    sources = sources_of_lengths(loaded, lengths_of_sentences(sentences[:count]))
    beam, greedy = SearchOptions(BEAM), SearchOptions(1)
    some = sources[:BATCH]
    equal = f"{n_equal(loaded, device, Task(some, beam, BATCH))} of {len(some)}"
    click.echo(f"float32: {equal} sentences as the reference on {device}")
    limit = copy_bandwidth(device)
    systems = list(make_systems(loaded, device, work, peers=peers))
    tasks = [Task(sources, beam, BATCH), Task(sources[: max(2, count // 32)], greedy, 1)]
    rows = list(rows_for(systems, tasks, rounds, weights_of_a_token(loaded), limit))
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    settings: dict[str, Cell] = {
        "device": name,
        "sentences": count,
        "rounds": rounds,
        "float32 as the reference": equal,
        "copy, GB/s": round(limit / 1e9, 1),
    }
    title = f"The torch engine on {name}: {loaded.config.name}"
    report = Report("gpu", title, settings, COLUMNS, rows, NOTES)
    publish(report, json_file)


if __name__ == "__main__":
    main()
