"""Something small, again and again in a thread beside what is measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeating(action: Callable[[], None], interval: float) -> Iterator[None]:
    """Do it every `interval` seconds until the body ends."""
    done = threading.Event()

    def again() -> None:
        while not done.wait(interval):
            action()

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
