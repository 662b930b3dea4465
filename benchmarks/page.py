"""How fast the page is, and how much typing users slow down other clients.

python -m benchmarks.page --sentences FILE

In Chromium (Debian's `chromium` and `chromium-driver`, if installed): the time from navigation to
the first visible translation, and from the last keystroke to its translation, including the page's
pause of 50 ms. Then the latency of a client that sends single sentences, alone and with simulated
pages: after each pause in typing, a page requests a stream with word links, and the next keystroke
cancels it.
"""

import asyncio
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlencode

import click
import httpx

from benchmarks.load import HOST, Load, finish, start
from benchmarks.options import Setup, benchmark, setup_options
from benchmarks.report import Cell
from benchmarks.server import request_fields, running

PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Bounds of the page's pause in seconds, which is half the time of the last answer."""

KEY_INTERVAL = 0.2
"""Mean seconds between two keystrokes: 60 words a minute."""

N_LOADS = 15

COLUMNS = {"What": "", "n": ",", "p50 ms": ",.0f", "p95 ms": ",.0f", "per second": ",.1f"}

TYPE = """
const [text, done] = arguments;
const began = performance.now();
const out = document.getElementById("translation");
const look = () => {
  const isThere = document.getElementById("mirror").textContent === text + "\\u200b"
    && document.querySelector("#mirror .s") && !document.querySelector(".panes.working");
  if (isThere) { seen.disconnect(); done(performance.now() - began); }
};
const seen = new MutationObserver(look);
seen.observe(document.getElementById("mirror"), { childList: true, subtree: true });
const area = document.getElementById("text");
area.value = text;
area.dispatchEvent(new Event("input"));
"""
TRANSLATION_TIME = "return document.querySelector('#translation .s') ? performance.now() : 0"


def in_browser(port: int, texts: Sequence[str]) -> list[dict[str, Cell]]:
    """Measure the time from navigation and from a keystroke to a visible translation."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = str(shutil.which("chromium"))
    loads, keystrokes = [], []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", f"--user-data-dir={profile}",
        ):  # fmt: skip
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            for text in texts[:N_LOADS]:
                driver.get("about:blank")
                state = urlencode({"from": "en", "to": "fr", "text": text})
                driver.get(f"http://{HOST}:{port}/#/translate?{state}")
                while not (timings := driver.execute_script(TRANSLATION_TIME)):
                    time.sleep(0.005)
                loads.append(timings)
            for text in texts:
                keystrokes.append(driver.execute_async_script(TYPE, text))
                time.sleep(0.1)
        finally:
            driver.quit()
    return [
        _row("first translation after the navigation", loads),
        _row("translation after a keystroke", keystrokes),
    ]


def _row(what: str, milliseconds: Sequence[float]) -> dict[str, Cell]:
    p95 = statistics.quantiles(milliseconds, n=20)[-1]
    return {
        "What": what,
        "n": len(milliseconds),
        "p50 ms": statistics.median(milliseconds),
        "p95 ms": p95,
        "per second": None,
    }


async def typing_users(
    port: int, texts: Sequence[str], fields: dict[str, str | int], n_pages: int, seconds: float
) -> list[float]:
    """Return the milliseconds from keystrokes to translations that were not cancelled."""
    end = time.monotonic() + seconds
    pages = [typing_user(port, texts, fields, number, end) for number in range(n_pages)]
    return [milliseconds for answered in await asyncio.gather(*pages) for milliseconds in answered]


async def typing_user(
    port: int, texts: Sequence[str], fields: dict[str, str | int], number: int, end: float
) -> list[float]:
    """Simulate a page with a client address of its own until `end` → as `typing_users`."""
    answered: list[float] = []
    pause = PAUSE
    choose = random.Random(number)
    # All of 127.0.0.0/8 is this machine (RFC 1122, 3.2.1.3).
    transport = httpx.AsyncHTTPTransport(local_address=f"127.0.1.{1 + number % 250}")
    url = f"http://{HOST}:{port}/translate"

    async def translate(text: str) -> None:
        nonlocal pause
        began = time.perf_counter()
        await asyncio.sleep(pause)
        sent = time.perf_counter()
        body = fields | {"text": text, "stream": True, "alignment": True}
        async with client.stream("POST", url, json=body) as answer:
            async for _ in answer.aiter_bytes():
                pass
        pause = min(LONGEST_PAUSE, max(PAUSE, (time.perf_counter() - sent) / 2))
        answered.append(1e3 * (time.perf_counter() - began))

    await asyncio.sleep(choose.random())
    async with httpx.AsyncClient(timeout=60, transport=transport) as client:
        while time.monotonic() < end:
            text = choose.choice(texts)
            for n in range(1, len(text) + 1):
                pending = asyncio.create_task(translate(text[:n]))
                await asyncio.sleep(choose.expovariate(1 / KEY_INTERVAL))
                pending.cancel()
                with suppress(asyncio.CancelledError, httpx.HTTPError):
                    await pending
                if time.monotonic() >= end:
                    break
    return answered


@benchmark
@setup_options
@click.option("--pages", type=click.IntRange(1), default=50)
@click.option("--seconds", type=float, default=20.0, help="Duration of each load.")
def main(setup: Setup, *, pages: int, seconds: float) -> None:
    """Measure the page in a browser, and another client's latency with typing users."""
    texts = setup.texts()
    fields = request_fields(setup.checkpoint, 4)
    rows: list[dict[str, Cell]] = []
    notes = []
    with running(setup.server()) as server:
        if shutil.which("chromium") and shutil.which("chromedriver"):
            rows += in_browser(server.port, texts)
        else:
            notes.append("No Chromium on this machine: nothing was measured in a browser.")
        load = Load(server.port, texts, fields, clients=1, seconds=seconds)
        for n_pages in (0, pages):
            with start(load) as other:
                typed = asyncio.run(
                    typing_users(server.port, texts, fields, n_pages, seconds + load.warm_up)
                )
                outcome = finish(other)
            if outcome.errors:
                raise click.ClickException(f"beside {n_pages} pages: {outcome.errors}")
            what = f"another client beside {n_pages} pages" if n_pages else "another client alone"
            rows.append(
                {"What": what, "n": outcome.answered, "p50 ms": outcome.p50, "p95 ms": outcome.p95,
                 "per second": outcome.per_second}
            )  # fmt: skip
            if typed:
                rows.append(
                    _row(f"translation on one of {n_pages} pages", typed)
                    | {"per second": len(typed) / seconds}
                )
    setup.publish("page", "The page", COLUMNS, rows, notes, precision=setup.precision)


if __name__ == "__main__":
    main()
