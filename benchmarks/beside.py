"""Work in a thread beside what is measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def beside(work: Callable[[threading.Event], object]) -> Iterator[None]:
    """Run it until the body ends, which sets the event that it is given."""
    done = threading.Event()
    thread = threading.Thread(target=work, args=(done,))
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def repeating(action: Callable[[], None], interval: float) -> Iterator[None]:
    """Do something small every `interval` seconds until the body ends."""

    def again(done: threading.Event) -> None:
        while not done.wait(interval):
            action()

    with beside(again):
        yield
