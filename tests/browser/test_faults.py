"""The page underlines and describes facts that differ."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from tests.app.garbling_engine import GarblingEngine, one_number
from tests.app.listening import listening
from tests.browser.driving import Page, open_page, wait_for


@pytest.fixture
def page(browser: webdriver.Chrome, tiny_checkpoint: Path) -> Iterator[Page]:
    engine = GarblingEngine(folder=tiny_checkpoint, garbled=one_number)
    with listening(engine, tiny_checkpoint) as url:
        page = open_page(browser, url)
        yield page
        page.check_console()
        page.check_hosts()
        browser.get("about:blank")


def test_the_spans_of_a_fault_are_underlined_and_described(page: Page) -> None:
    page.go("#/translate?source=en&target=fr&text=A%20dog.%20The%20cat%20sees%2012%20dogs.")
    wait_for("underlines", lambda: page.all("#translation .fault"))
    message = "“12” is “43” in the translation."
    assert page.each("#mirror .fault", "textContent") == ["12"]
    assert page.each("#translation .fault", "textContent") == ["43"]
    assert set(page.each(".fault", "title")) == {message}
    assert set(page.each("#translation .fault .w", "title")) == {message}
    assert any(message in item for item in page.each("#flags li", "textContent"))
    assert page.translation == "A dog. The cat sees 43 dogs."
    lines = "return getComputedStyle(document.querySelector(arguments[0])).textDecorationStyle"
    assert page.run(lines, "#mirror .fault") == "wavy"
