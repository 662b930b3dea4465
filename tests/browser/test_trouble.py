"""Missing keys, overload and a lost server are reported in plain language."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from app.shipped import SHIPPED_CHECKPOINT
from tests.app.server_process import serving
from tests.browser.driving import Page, open_page, wait_for

QUIET = ("--log-level", "error")
OpenPage = Callable[..., AbstractContextManager[Page]]


@pytest.fixture
def page_of(browser: webdriver.Chrome, kernels: None) -> OpenPage:
    """The page of a server with these flags, on a port and so an origin of its own."""

    @contextmanager
    def page_of(*flags: str) -> Iterator[Page]:
        with serving(SHIPPED_CHECKPOINT, *QUIET, *flags) as (_, client):
            yield open_page(browser, str(client.base_url).rstrip("/"))

    return page_of


def test_an_overload_is_counted_down(page_of: OpenPage) -> None:
    with page_of("--requests-per-minute", "1") as page:
        page.type("The house is green.")
        page.translated("green.")
        page.type(" And old.")
        alert = wait_for("the alert", lambda: page.all("#alert:not([hidden])"))[0]
        assert "Too many requests" in alert.text
        first = int("".join(filter(str.isdigit, page.find(".countdown").text)))
        assert 0 < first <= 60

        def seconds() -> int:
            return int("".join(filter(str.isdigit, page.find(".countdown").text)))

        wait_for("the countdown", lambda: seconds() < first)
        page.expected_errors = ("429",)
        page.check_console()


def test_a_key_is_requested_and_kept_for_the_session(page_of: OpenPage) -> None:
    with page_of("--api-keys", "mine") as page:
        dialog = page.find("#key-dialog")
        wait_for("the dialog", dialog.is_displayed)
        page.find("#key").send_keys(Keys.ESCAPE)
        wait_for("what is missing", lambda: "key needed" in page.find("#status").text)
        assert page.all("#status .dot.gone")
        page.find("#text").send_keys("The")
        wait_for("the reason", lambda: "requires a key" in page.find("#alert").text)
        assert (
            not dialog.is_displayed()
        )  # after declining, the key is not requested at each keystroke
        page.find("#key-open").click()
        page.find("#key").send_keys("theirs\n")
        wait_for("the refusal", lambda: "not know" in page.find("#key-wrong").text)
        page.find("#key").send_keys("mine\n")
        wait_for("its end", lambda: not dialog.is_displayed())
        page.run("document.activeElement.value = ''")
        ActionChains(page.driver).send_keys("The house is green.").perform()  # where the focus is
        page.translated("green.")
        assert not page.all("#status .dot.gone")
        page.driver.refresh()
        page.translated("green.")
        assert "mine" not in page.driver.current_url
        assert page.run("return JSON.stringify(localStorage)").count("mine") == 0
        page.expected_errors = ("401",)
        page.check_console()


def test_a_lost_server_is_reported(page_of: OpenPage) -> None:
    with page_of() as page:
        page.type("The house is green.")
        page.translated("green.")
    page.type(" And")
    alert = wait_for("the alert", lambda: page.all("#alert:not([hidden])"))[0]
    assert "does not answer" in alert.text
    assert page.find(".countdown").text
