"""Which jobs an engine has, which slots of a batch they occupy, and the sizes of shapes."""

from collections.abc import Sequence

from model.engine.protocol import Job
from model.transformer.config import TransformerConfig

MAX_ROWS = {"cpu": 256}
"""Hypotheses in flight by type of device: beyond, products get no faster."""

MAX_ROWS_ELSEWHERE = 1024

MIN_POSITIONS = 8
"""Fewest positions of either side; fewer would save nothing and need graphs of their own."""

MIN_RECORDED_POSITIONS = 16
"""Fewest positions of either side of a recorded step."""

PREPARED_POSITIONS = 128
"""Maximum positions of either side for which steps are recorded at the start."""


def is_long(job: Job, config: TransformerConfig) -> bool:
    """Whether a job may need more positions than steps are recorded for at the start."""
    n_source = len(job.source_ids)
    n_target = job.options.limits(n_source, config.max_length).n_tokens
    return max(n_source, n_target) > PREPARED_POSITIONS


def prepared_lengths(config: TransformerConfig) -> list[int]:
    """Return the numbers of positions for which steps are recorded at the start, largest first."""
    longest = min(PREPARED_POSITIONS, config.max_length)
    lengths = {position_bucket(n, longest, recorded=True) for n in range(1, 1 + longest)}
    return sorted(lengths, reverse=True)


def bucket(size: int, largest: int) -> int:
    """Return the smallest of 1, 2, 4, 8, 12, 16, 24, 32, 48, 64, … that holds `size`.

    At most a third of it is empty from 8 on. At most `largest`, which must hold `size`. A few sizes
    need few graphs and few allocations.
    """
    if not 0 <= size <= largest:
        raise ValueError(f"size {size}: 0 … {largest}")
    power = 1 << max(0, size - 1).bit_length()
    between = 3 * power // 4
    return min(between if power >= 16 and size <= between else power, largest)


def position_bucket(n: int, largest: int, *, recorded: bool) -> int:
    """Return the bucket of positions: powers of two if each needs graphs of its own."""
    if recorded:
        n = max(n, min(MIN_RECORDED_POSITIONS, largest))
        return min(1 << (n - 1).bit_length(), largest)
    return bucket(max(n, min(MIN_POSITIONS, largest)), largest)


class Capacity:
    """The jobs in an engine, waiting or in flight, and whether more fit.

    max_rows    hypotheses
    max_tokens  jobs × the longest of them, in source tokens
    """

    def __init__(self, config: TransformerConfig, max_rows: int, max_tokens: int) -> None:
        self._max_length = config.max_length
        self._max_rows = max_rows
        self._max_tokens = max_tokens
        self._jobs: dict[int, tuple[int, int]] = {}  # source tokens, rows

    def __len__(self) -> int:
        return len(self._jobs)

    def fits(self, job: Job) -> bool:
        needs = [*self._jobs.values(), self._needs(job)]
        n_tokens = len(needs) * max(n_source for n_source, _ in needs)
        n_rows = sum(width for _, width in needs)
        return n_tokens <= self._max_tokens and n_rows <= self._max_rows

    def reserve(self, job: Job) -> None:
        self._jobs[job.id] = self._needs(job)

    def release(self, job_id: int) -> None:
        self._jobs.pop(job_id, None)

    def clear(self) -> None:
        self._jobs.clear()

    def _needs(self, job: Job) -> tuple[int, int]:
        n_source = len(job.source_ids)
        return n_source, job.options.limits(n_source, self._max_length).width


class Slots:
    """Jobs by slot, at most `n`, in order of arrival.

    vacated  slots whose hypotheses are still on the device
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self.jobs: dict[int, Job] = {}
        self.vacated: set[int] = set()

    @property
    def free(self) -> list[int]:
        return [slot for slot in range(self._n) if slot not in self.jobs]

    @property
    def n_used(self) -> int:
        """Slots that a step computes: a bucket that holds the last occupied one."""
        return bucket(max(self.jobs) + 1, self._n)

    def occupy(self, slot: int, job: Job) -> None:
        self.vacated.discard(slot)
        self.jobs[slot] = job

    def vacate(self, slot: int) -> Job:
        self.vacated.add(slot)
        return self.jobs.pop(slot)

    def compact(self) -> tuple[Sequence[int], Sequence[int]]:
        """Move jobs to lower slots if these fit a smaller bucket; return the old and new slots."""
        n_enough = bucket(len(self.jobs), self._n)
        if n_enough == self.n_used:
            return (), ()
        source = [slot for slot in self.jobs if slot >= n_enough]
        free = (slot for slot in range(n_enough) if slot not in self.jobs)
        target = [slot for slot, _ in zip(free, source, strict=False)]
        self.vacated = self.vacated.difference(target) | set(source)
        new_slot = dict(zip(source, target, strict=True))
        self.jobs = {new_slot.get(slot, slot): job for slot, job in self.jobs.items()}
        return source, target
