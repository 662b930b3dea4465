"""Chromium with a server of the shipped checkpoint; skipped without Chromium."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from app.shipped import SHIPPED_CHECKPOINT
from tests.app.server_process import serving
from tests.browser.driving import Page, chromium

AXE = Path.home() / ".cache" / "attend" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
"""Downloaded by `.ci/run`."""


@pytest.fixture(scope="session")
def browser_files() -> tuple[str, str]:
    """Chromium and its driver, as Debian's packages `chromium` and `chromium-driver` have them."""
    files = shutil.which("chromium"), shutil.which("chromedriver")
    if not files[0] or not files[1]:
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    return files[0], files[1]


@pytest.fixture(scope="session")
def server(browser_files: tuple[str, str], kernels: None) -> Iterator[str]:
    # The log of requests would fill the unread pipe.
    with serving(SHIPPED_CHECKPOINT, "--log-level", "error") as (_, client):
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="session")
def browser(
    browser_files: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[webdriver.Chrome]:
    with chromium(*browser_files, tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def unvisited(browser: webdriver.Chrome, server: str) -> Iterator[Page]:
    """The page before a first visit; afterwards, check its console and requested hosts."""
    page = Page(browser, server)
    browser.get(f"{server}/icon")  # same origin, without the page's scripts
    page.run("localStorage.clear(); sessionStorage.clear()")
    page.emulate()
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    yield page
    page.check_console()
    page.check_hosts()


@pytest.fixture
def page(unvisited: Page) -> Page:
    """The page as at a first visit."""
    unvisited.go("")
    return unvisited


@pytest.fixture(scope="session")
def axe() -> str:
    path = Path(os.environ.get("AXE_CORE", AXE))
    if not path.is_file():
        pytest.skip(f"needs axe-core at {path}: npm install --prefix {AXE.parents[2]} axe-core")
    return path.read_text(encoding="utf-8")
