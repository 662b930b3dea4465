"""Accessibility: screen readers, keyboards, phones, dark mode, slow connections."""

import json

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser.driving import Page, wait_for

STATE = "?from=en&to=fr&text=The+house+is+green.+Where+is+the+station%3F"
MAX_COMPRESSED_BYTES = 90_000
"""Maximum bytes of everything that all views load."""

COLOUR_RULES = ["color-contrast", "link-in-text-block"]
"""Rules of axe that depend on colours."""

VIEWS = {
    "translate": "#translation .s",
    "attention": "#figure-compare .lines",
    "inside": ".products tbody tr",
    "api": ".recipe",
}


@pytest.fixture
def page(unvisited: Page) -> Page:
    """The page, which most tests load with a URL of their own."""
    return unvisited


def go(page: Page, view: str) -> None:
    page.go(f"#/{view}{STATE}")
    wait_for(view, lambda: page.all(VIEWS[view]))


def serious_findings(page: Page, axe: str) -> list[str]:
    """All rules in light mode, and those about colours in dark mode."""
    page.run(axe)
    script = "const [options, done] = arguments; axe.run(document, { resultTypes: ['violations'], ...options }).then((result) => done(result.violations))"  # noqa: E501
    rules = {"label-content-name-mismatch": {"enabled": True}}
    found = page.driver.execute_async_script(script, {"rules": rules})
    page.emulate(dark=True)
    found += page.driver.execute_async_script(script, {"runOnly": COLOUR_RULES})
    return [
        f"{one['id']}: {json.dumps([node['html'][:120] for node in one['nodes']])}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(page: Page, axe: str, view: str) -> None:
    go(page, view)
    if view == "translate":
        page.find("#glossary-open").click()
        page.all("#translation .s")[0].click()
        wait_for("alternatives", lambda: page.all("#alternatives li"))
    assert serious_findings(page, axe) == []


def test_axe_finds_nothing_serious_in_the_reference(page: Page, axe: str) -> None:
    page.driver.get(f"{page.server}/docs")
    wait_for("the routes", lambda: page.all(".operation"))
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert serious_findings(page, axe) == []


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_cut_off_at_any_width(page: Page, view: str) -> None:
    script = "const { scrollWidth, clientWidth } = document.documentElement; return scrollWidth - clientWidth"  # noqa: E501
    go(page, view)
    for width in (390, 768, 1280, 1920):
        page.emulate(width=width)
        wait_for("the width", lambda width=width: page.run("return innerWidth") == width)  # type: ignore[misc]
        wait_for("a layout that fits", lambda: page.run(script) <= 0)
        for tab in page.all("#tabs a"):
            box = tab.rect
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


def test_the_keyboard_alone_does_everything(page: Page) -> None:
    def focused() -> str:
        return str(page.run(
            "const node = document.activeElement; return node.id || node.dataset.view || node.dataset.s || node.dataset.block || node.dataset.step || node.tagName"  # noqa: E501
        ))  # fmt: skip

    def press(key: str) -> None:
        # Keys go to the page, since elements may be replaced during the lookup.
        ActionChains(page.driver, duration=0).send_keys(key).perform()

    def tab_to(name: str) -> None:
        for _ in range(60):
            if focused() == name:
                return
            press(Keys.TAB)
        pytest.fail(f"{name} cannot be reached")

    page.go("")
    tab_to("text")
    press("The house is green. Where is the station?")
    page.translated("station?")
    tab_to("1")  # the sentence at the caret
    press(Keys.ARROW_LEFT)
    assert focused() == "0"
    press(Keys.ENTER)
    wait_for("alternatives", lambda: page.all("#alternatives li button"))
    before = page.translation
    wait_for("the focus", lambda: focused() == "BUTTON")
    press(Keys.ARROW_DOWN)
    press(Keys.ENTER)
    wait_for("the choice", lambda: page.translation != before)
    assert focused() == "0"
    undo = ActionChains(page.driver, duration=0).key_down(Keys.CONTROL).send_keys("z")
    undo.key_up(Keys.CONTROL).perform()
    wait_for("undo", lambda: page.translation == before)
    for name in ("swap", "copy", "share", "glossary-open", "choose-file", "theme", "locale"):
        tab_to(name)
    tab_to("attention")
    press(Keys.ENTER)
    wait_for("the map", lambda: page.all("canvas.heat[data-rows]"))
    tab_to("head")
    press("2")
    tab_to("CANVAS")
    press(Keys.ARROW_DOWN)
    assert ":" in page.find(".readout").text
    tab_to("inside")
    press(Keys.ENTER)
    wait_for("the tree", lambda: page.all(".tree .node"))
    tab_to("encoder/feed_forward")
    press(Keys.ENTER)
    wait_for("its numbers", lambda: page.all('[data-vector="feed_forward.hidden"]'))
    assert focused() == "encoder/feed_forward"
    for name in (
        "block-layer",
        "block-token",
        "step-layer",
        "step-head",
        "step-token",
        "beams",
        "penalty",
        "start",
    ):
        tab_to(name)
    press(Keys.ARROW_RIGHT)
    assert "Step 2" in page.find(".detail").text
    tab_to("api")
    press(Keys.ENTER)
    wait_for("recipes", lambda: page.all(".recipe"))


def test_the_page_loads_few_bytes(page: Page) -> None:
    for view in VIEWS:
        go(page, view)
    script = "return performance.getEntriesByType('resource').filter((one) => one.name.includes('/web/')).map((one) => [one.name, one.encodedBodySize])"  # noqa: E501
    sizes = dict(page.run(script))
    document = page.run("return performance.getEntriesByType('navigation')[0].encodedBodySize")
    assert 10_000 < sum(sizes.values()) + document <= MAX_COMPRESSED_BYTES


def test_a_theme_is_kept(page: Page) -> None:
    colour = "return getComputedStyle(document.body).backgroundColor"
    page.go("")
    light = page.run(colour)
    page.find("#theme").click()
    assert page.run(colour) == light
    page.find("#theme").click()
    dark = page.run(colour)
    assert dark != light
    page.go("")
    assert page.run(colour) == dark
