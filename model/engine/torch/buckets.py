"""The sizes that shapes come in, so that few graphs and few allocations serve any load."""

from __future__ import annotations


def bucket(size: int, largest: int) -> int:
    """Return the smallest of 1, 2, 4, 8, 12, 16, 24, 32, 48, 64, … that holds `size`.

    At most a third of it is empty from 8 on. At most `largest`, which must hold `size`.
    """
    if not 0 <= size <= largest:
        raise ValueError(f"size {size}: 0 … {largest}")
    power = 1 << max(0, size - 1).bit_length()
    between = 3 * power // 4
    return min(between if power >= 16 and size <= between else power, largest)


def power_of_two(size: int, largest: int) -> int:
    """Return the smallest power of two that holds `size`, at most `largest`, which must hold it.

    Half of it may be empty, but there are few of them: few graphs have to be recorded.
    """
    if not 1 <= size <= largest:
        raise ValueError(f"size {size}: 1 … {largest}")
    return min(1 << (size - 1).bit_length(), largest)


FEWEST_POSITIONS = 8
"""Fewest positions of either side; fewer would save nothing and need graphs of their own."""

FEWEST_RECORDED_POSITIONS = 16
"""Fewest positions of either side of a recorded step."""


def positions(n: int, largest: int, *, recorded: bool) -> int:
    """Return the bucket of positions: coarse if each needs graphs of its own."""
    if recorded:
        return power_of_two(max(n, min(FEWEST_RECORDED_POSITIONS, largest)), largest)
    return bucket(max(n, min(FEWEST_POSITIONS, largest)), largest)
