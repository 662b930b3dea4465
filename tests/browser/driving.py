"""Actions and checks of the page's tests in a browser."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--lang=en-GB", "--window-size=1280,900",
)  # fmt: skip
TIMEOUT = 40.0
"""Seconds; generous for a busy machine."""

T = TypeVar("T")


@contextmanager
def chromium(browser: str, driver: str, profile: Path) -> Iterator[webdriver.Chrome]:
    options = Options()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    running = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield running
    finally:
        running.quit()


def wait_for(what: str, look: Callable[[], T]) -> T:
    """The first true value of `look`."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.03)
    pytest.fail(f"timeout while waiting for {what}")


class Page:
    """The page of a server, in a browser."""

    def __init__(self, driver: webdriver.Chrome, server: str) -> None:
        self.driver = driver
        self.server = server
        self.expected_errors: tuple[str, ...] = ()

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> Sequence[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def each(self, selector: str, member: str) -> list[str]:
        """Return a member of all matching elements at once, since the page may rebuild them."""
        script = f"return [...document.querySelectorAll(arguments[0])].map((one) => one.{member})"
        found: list[str] = self.run(script, selector)
        return found

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def go(self, fragment: str) -> None:
        """Load a state of the page."""
        self.check_hosts()
        self.driver.get("about:blank")
        self.driver.get(f"{self.server}/{fragment}")
        wait_for("the languages", lambda: self.all("#target-language option"))

    def type(self, text: str) -> None:
        self.find("#text").send_keys(text)

    @property
    def translation(self) -> str:
        return str(self.run("return document.getElementById('translation').textContent"))

    @property
    def is_settled(self) -> bool:
        return not self.all(".panes.working")

    def translated(self, source: str = "") -> str:
        """Wait for the translation of this source and its sentences."""

        def look() -> str:
            done = self.is_settled and self.all("#mirror .s")
            mirrored = self.run("return document.getElementById('mirror').textContent")
            return self.translation if done and source in mirrored else ""

        return wait_for("a translation", look)

    def view(self, name: str) -> None:
        self.find(f'[data-view="{name}"]').click()

    def emulate(self, *, dark: bool = False, width: int = 1280) -> None:
        """Set the colour scheme and the width of the window, without transitions."""
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def tap(self, element: WebElement) -> None:
        """Tap the element."""
        script = "const { x, y, width, height } = arguments[0].getBoundingClientRect(); return [x + width / 2, y + height / 2]"  # noqa: E501
        x, y = self.run(script, element)
        for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
            event = {"type": kind, "touchPoints": points}
            self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", event)

    def check_console(self) -> None:
        entries = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        wrong = [
            entry["message"]
            for entry in entries
            if entry["level"] in ("SEVERE", "WARNING")
            and not any(known in entry["message"] for known in self.expected_errors)
        ]
        assert wrong == [], wrong

    def check_hosts(self) -> None:
        script = "return performance.getEntriesByType('resource').map((entry) => entry.name)"
        hosts = {urlsplit(name).netloc for name in self.run(script) if not name.startswith("data:")}
        assert hosts <= {urlsplit(self.server).netloc}


def open_page(driver: webdriver.Chrome, server: str) -> Page:
    page = Page(driver, server)
    driver.get("about:blank")  # not the page of another server
    page.emulate()
    driver.get_log("browser")  # type: ignore[no-untyped-call]  # nor what it wrote
    page.go("")
    return page
