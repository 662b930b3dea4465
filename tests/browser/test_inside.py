"""Views of attention and of the model show the API's numbers."""

import json
import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from selenium import webdriver

from model.interop.languages import Languages
from model.interop.marian_import import import_firefox, import_marian
from tests.app.server_process import serving
from tests.browser.driving import Page, wait_for
from tests.firefox_model import word_vocabulary, write_model

TEXT = "The house is green."
STATE = "?from=en&to=fr&text=The+house+is+green."


@pytest.fixture
def page(unvisited: Page) -> Page:
    """The page, which each test loads with a URL of its own."""
    return unvisited


def post(page: Page, route: str, **body: Any) -> Any:
    body = {"text": TEXT, "source": "en", "target": "fr", "split_sentences": False} | body
    return httpx.post(f"{page.server}/{route}", json=body, timeout=60).raise_for_status().json()


def weights(page: Page, kind: str, layer: int) -> list[list[list[float]]]:
    requested = {"kind": kind, "layers": [layer], "heads": "all"}
    answer = post(page, "translate", attention=requested)
    [of_layer] = answer["translations"][0]["segments"][0]["attention"]["weights"]
    return list(of_layer)


def pixels(page: Page) -> str:
    return str(page.run("return document.querySelector('canvas.heat').toDataURL()"))


def choose(page: Page, name: str, value: object) -> None:
    script = "const list = document.getElementById(arguments[0]); list.value = arguments[1]; list.dispatchEvent(new Event('change'))"  # noqa: E501
    page.run(script, name, str(value))


def heat(page: Page) -> tuple[int, int]:
    canvas = wait_for("the heat map", lambda: page.all("canvas.heat[data-rows]"))[0]
    return int(canvas.get_attribute("data-rows") or 0), int(
        canvas.get_attribute("data-columns") or 0
    )


def open_block(page: Page, block: str) -> None:
    script = "document.querySelector(arguments[0]).dispatchEvent(new Event('click'))"
    page.run(script, f'[data-block="{block}"]')
    wait_for(block, lambda: page.all(f'#block[data-block="{block}"]'))


READ_BLOCK = """
const rows = (selector, read) => [...document.querySelectorAll(`#block ${selector}`)].map(read);
const cells = (row) => [...row.querySelectorAll(".n")].map((cell) => cell.textContent);
return {
  vectors: rows("[data-vector]", (row) => [row.dataset.vector, row.querySelector(".values").textContent, ...cells(row)]),
  weights: rows("[data-weight]", cells), logits: rows("[data-logit]", cells),
};"""  # noqa: E501


def formatted(value: float, digits: int, scale: int = 1) -> str:
    """As `Intl.NumberFormat` formats it: from the shortest decimal form, halves away from zero."""
    unit = Decimal(1).scaleb(-digits)
    return f"{(Decimal(repr(value)) * scale).quantize(unit, ROUND_HALF_UP):,}"


def check_blocks(page: Page, **body: Any) -> set[str]:
    """Open every block of figure 1: its numbers are those of POST /explain. Returns their names."""
    blocks = set(page.run(
        "return [...document.querySelectorAll('[data-block]')].map((one) => one.dataset.block)"
    )) - {""}  # fmt: skip
    answers: dict[tuple[str, str], Any] = {}
    for block in sorted(one for one in blocks if one):
        open_block(page, block)
        stack, sublayer, *_ = block.split("/")
        in_encoder = stack == "encoder"
        is_masked = sublayer == "self_attention" and not in_encoder
        kind = "encoder" if in_encoder else "decoder" if is_masked else "cross"
        if (stack, kind) not in answers:
            at = {"token": 1 if in_encoder else 0}
            answers[stack, kind] = post(
                page, "explain", attention=at | {"kind": kind},
                activations=at | {"stack": stack}, **body,
            )  # fmt: skip
        answer = answers[stack, kind]
        layer, block_view = answer["activations"], page.run(READ_BLOCK)
        vectors = {f"{one['sublayer']}.{one['name']}": one["vector"] for one in layer["vectors"]}
        for name, first, length in block_view["vectors"]:
            values = "  ".join(formatted(number, 3) for number in vectors[name][:4])
            assert first == f"{values} …", (block, name)
            assert length == formatted(math.hypot(*vectors[name]), 2), (block, name)
        if block_view["weights"]:
            assert block_view["weights"] == [
                [formatted(one["product"], 2), formatted(one["scaled"], 2),
                 "0" if one["seen"] else "−∞", formatted(one["weight"], 4)]
                for one in answer["attention"]["columns"]
            ], block  # fmt: skip
        if block_view["logits"]:
            assert [row[0] for row in block_view["logits"]] == [
                formatted(one["logit"], 3) for one in layer["logits"]
            ]
            assert [row[2] for row in block_view["logits"]] == [
                f"{formatted(one['probability'], 2, scale=100)}%" for one in layer["logits"]
            ]
        assert any(block_view.values()), block
    return blocks


@pytest.mark.parametrize(("kind", "layer"), [("cross", 1), ("encoder", 9), ("decoder", 1)])
def test_the_heat_map_has_a_cell_for_every_weight(page: Page, kind: str, layer: int) -> None:
    page.go(f"#/attention{STATE}")
    heat(page)
    page.find(f'[name="kind"][value="{kind}"]').find_element("xpath", "..").click()
    of_layer = weights(page, kind, layer)
    size = len(of_layer[0]), len(of_layer[0][0])
    wait_for("its size", lambda: heat(page) == size)
    # The weight of the last cell is announced, here by the keyboard.
    canvas = page.find("canvas.heat")
    canvas.send_keys(*["\ue015"] * size[0], *["\ue014"] * size[1])
    readout = page.find(".readout").text.rpartition(": ")[2]
    mean = sum(head[-1][-1] for head in of_layer) / len(of_layer)
    assert float(readout) == pytest.approx(mean, abs=1e-3)


def test_heads_and_layers_look_different(page: Page) -> None:
    page.go(f"#/attention{STATE}")
    heat(page)
    seen = {pixels(page)}
    n_heads = len(weights(page, "cross", 1))
    assert len(page.all(".maps .layer")) == 2
    assert len(page.all(".maps button")) == 2 * n_heads
    for head in range(n_heads):
        choose(page, "head", head)
        seen.add(pixels(page))
    assert len(seen) == n_heads + 1
    choose(page, "layer", 0)
    wait_for("another layer", lambda: pixels(page) not in seen)


def test_maps_and_lines_are_the_weights(page: Page) -> None:
    page.go(f"#/attention{STATE}")
    heat(page)
    bits = re.findall(r"([\d.]+) bits", page.find(".maps").text)
    expected = [-sum(w * math.log2(w) for row in head for w in row if w > 0) / len(head)
                for layer in range(2) for head in weights(page, "cross", layer)]  # fmt: skip
    assert [float(one) for one in bits] == pytest.approx(expected, abs=0.06)
    page.all(".maps button")[0].click()
    page.find('[name="look"][value="lines"]').find_element("xpath", "..").click()
    head = weights(page, "cross", 0)[0]
    wait_for("the lines", lambda: page.all("#attention-body .beside .lines"))
    drawn = page.all(".beside .lines path")
    assert abs(len(drawn) - sum(w >= 0.02 for row in head for w in row)) <= 1  # float16 on the way
    explained = page.each(".specials dt", "textContent")
    assert "<2fr>" in explained
    assert "</s>" in explained
    wait_for("both sentences", lambda: len(page.all("#figure-compare .lines")) == 2)
    assert [one.text for one in page.all("#figure-compare .lines g.lit")] == ["it", "it"]


def test_the_token_under_the_pointer_is_shown_in_both_texts(page: Page) -> None:
    page.go(f"#/attention{STATE}")
    rows, columns = heat(page)
    page.find("canvas.heat").send_keys("\ue015", "\ue015", "\ue014")
    assert len(page.all(".texts .token.linked")) == 2
    assert (rows, columns) == heat(page)


def test_the_heat_map_can_be_saved(page: Page) -> None:
    page.driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "deny"})
    page.go(f"#/attention{STATE}")
    rows, columns = heat(page)
    page.run(
        "window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = (blob) => {"
        " blob.text().then((text) => window.saved.push(text)); return make(blob); }"
    )
    for number, button in enumerate(page.all(".controls button.plain"), start=1):
        button.click()
        wait_for("a file", lambda n=number: len(page.run("return window.saved")) == n)  # type: ignore[misc]
    drawing, picture, data = page.run("return window.saved")
    assert drawing.count("<rect") == rows * columns + 1
    assert picture[1:4] == "PNG"
    saved = json.loads(data)
    heads = weights(page, "cross", 1)
    assert saved["weights"][0][0] == pytest.approx(
        sum(head[0][0] for head in heads) / len(heads), abs=1e-3
    )
    assert (len(saved["row_tokens"]), len(saved["column_tokens"])) == (rows, columns)


def test_the_numbers_of_the_attention_step_are_the_apis(page: Page) -> None:
    page.go(f"#/inside{STATE}")
    wait_for("the steps", lambda: page.all(".products tbody tr"))
    open_block(page, "decoder/cross_attention")
    for token, head in ((0, 0), (2, 3)):
        choose(page, "step-token", token)
        choose(page, "step-head", head)
        expected = weights(page, "cross", 1)[head][token]
        requested = {"kind": "cross", "head": head, "token": token}
        columns = post(page, "explain", attention=requested)["attention"]["columns"]

        def displayed() -> list[float]:
            return [float(weight) for weight in page.each(".products .weight", "dataset.weight")]

        answered = [one["weight"] for one in columns]
        wait_for("the numbers", lambda answered=answered: displayed() == answered)  # type: ignore[misc]
        assert displayed() == pytest.approx(expected, abs=5.1e-5)
        products = [row.split() for row in page.each(".products tbody tr", "innerText")]
        for row, column in zip(products, columns, strict=True):
            assert formatted(column["product"], 2) in row
            assert formatted(column["scaled"], 2) in row


def test_the_search_is_drawn_as_it_went(page: Page) -> None:
    page.go(f"#/inside{STATE}")
    wait_for("the tree", lambda: page.all(".tree .node"))
    answer = post(page, "explain")
    steps = answer["search"]["steps"]
    assert len(page.all(".tree .node")) == sum(len(step["beams"]) for step in steps)
    assert answer["text"] in page.find("#figure-search .readout").text
    likeliest = page.each(".likeliest .piece", "textContent")
    first = [one["piece"].strip("▁") for one in steps[0]["beams"][0]["likeliest"]]
    assert likeliest == first
    choose(page, "beams", 1)
    n_steps = len(post(page, "explain", beam_size=1)["search"]["steps"])
    wait_for("one beam", lambda: len(page.all(".tree .node")) == n_steps)


def test_the_architecture_has_this_models_numbers(page: Page) -> None:
    page.go(f"#/inside{STATE}")
    config = httpx.get(f"{page.server}/info").json()["config"]
    script = "return document.querySelector('.figure1')?.textContent"
    drawn = wait_for("the figure", lambda: page.run(script))
    n_heads = config["n_heads"]
    assert f"{config['n_encoder_layers']} ×" in drawn
    assert f"{config['n_decoder_layers']} ×" in drawn
    assert f"{n_heads} heads of {config['d_model'] // n_heads}" in drawn


def test_the_numbers_of_every_block_are_the_apis(page: Page) -> None:
    page.go(f"#/inside{STATE}")
    wait_for("a block", lambda: page.all("#block"))
    blocks = check_blocks(page)
    assert {"encoder/stack", "decoder/stack", "decoder/self_attention/norm"} <= blocks  # pre-norm
    assert "encoder/self_attention" in blocks


def start_tour(page: Page) -> str:
    """Return the button's label once there is an answer; each answer builds the button again."""
    wait_for("an answer", lambda: page.all("#block"))
    script = "const start = document.querySelector('.tour-start'); start.click(); return start.textContent"  # noqa: E501
    return str(page.run(script))


def test_the_tour_is_left_with_escape_and_remembered(page: Page) -> None:
    page.go(f"#/inside{STATE}")
    start_tour(page)
    titles = []
    for step in range(3):
        wait_for("the step", lambda n=step: f"{n + 1} of 8" in page.find("#tour").text)  # type: ignore[misc]
        wait_for("what it is about", lambda: page.all(".pointed"))
        titles.append(page.find("#tour h2").text)
        page.find("#tour .primary").click()
    assert titles == ["One sentence", "Tokens", "Embedding and position"]
    page.find("#tour h2").send_keys("\ue00c")
    wait_for("its end", lambda: not page.all("#tour"))
    page.go(f"#/inside{STATE}")
    assert "step 4" in start_tour(page)
    for _ in range(5):
        wait_for("what it is about", lambda: page.all(".pointed"))
        page.find("#tour .primary").click()
    wait_for("its end", lambda: not page.all("#tour"))
    assert page.run("return localStorage.getItem('attend.tour')") == "0"
    assert page.all("#view-translate:not([hidden])")


def test_the_positions_are_the_models(page: Page) -> None:
    page.go(f"#/inside{STATE}")
    canvas = wait_for("the table", lambda: page.all("canvas.positions"))[0]
    size = page.run("return [arguments[0].width, arguments[0].height]", canvas)
    assert size == [httpx.get(f"{page.server}/info").json()["config"]["d_model"], 128]
    canvas.send_keys("\ue014")
    assert "dimension 1" in page.find("#figure-positions .readout").text
    product, elsewhere = re.findall(r" = ([\d.,]+)", page.find("#figure-positions .product").text)
    assert product.rstrip(".,") == elsewhere.rstrip(".,")  # only the distance matters
    page.all(".order button")[1].click()
    order = ["The", "is", "house", "green."]
    wait_for("another order", lambda: page.each(".words label", "innerText") == order)
    expected = post(page, "translate", text=" ".join(order))["translations"][0]["text"]
    wait_for("its translation", lambda: page.all(".before-after dd")[1].text == expected)


def test_without_a_text_there_is_an_example(page: Page) -> None:
    page.go("#/attention")
    heat(page)
    assert "example" in page.find("#attention-body").text.lower()


def test_the_reference_has_every_route_and_tries_one(page: Page) -> None:
    document = httpx.get(f"{page.server}/openapi.json").json()
    for path in ("docs", "redoc"):
        page.driver.get(f"{page.server}/{path}")
        n_operations = sum(len(methods) for methods in document["paths"].values())
        wait_for("the routes", lambda n=n_operations: len(page.all(".operation")) == n)  # type: ignore[misc]
    page.find("#post-translate .primary").click()
    answer = wait_for("an answer", lambda: page.find("#post-translate pre").text)
    assert '"translations"' in answer


def test_models_of_a_shelf_are_drawn_before_they_are_loaded_and_afterwards(
    browser: webdriver.Chrome, tmp_path: Path, kernels: None, make_folder: Callable[..., Path]
) -> None:
    shelf = tmp_path / "shelf"
    for pair in ("de-en", "en-fr"):  # the first has not answered, and has no attention of its own
        letters = pair.replace("-", "")
        write_model(tmp_path / letters, "test", (word_vocabulary(60),), (60, 60), pair=letters)
        import_firefox(tmp_path / letters, shelf / pair, pair)
    languages = Languages(("en",), ("es",))
    import_marian(make_folder(), shelf / "en-es", "en-es", languages)  # post-norm
    with serving(None, "--models", str(shelf), "--log-level", "error") as (_, client):
        page = Page(browser, str(client.base_url).rstrip("/"))
        browser.get("about:blank")
        # Links are requested and refused if GET /info has not yet listed the pivot pairs.
        page.expected_errors = ("/translate - Failed to load resource",)
        page.go("#/inside?from=de&to=fr&text=w7")  # by two models, so neither is shown
        wait_for("a drawing", lambda: page.all("svg.figure1"))
        facts = dict(zip(page.each(".facts dt", "textContent"),
                         page.each(".facts dd", "textContent"), strict=True))  # fmt: skip
        assert facts["digest"] == "–"
        assert "Recurrent unit" in page.find("svg.figure1").text
        wait_for("the footer", lambda: page.find("#status").text.startswith("3 models"))
        page.go("#/inside?from=en&to=fr&text=w7+w8")
        wait_for("the steps", lambda: page.all(".products tbody tr"))
        wait_for("the digest", lambda: "–" not in page.each(".facts dd", "textContent"))
        assert "en-fr" in page.find("#inside-lead").text
        blocks = check_blocks(page, text="w7 w8")
        assert "decoder/ssru" in blocks
        assert "decoder/self_attention" not in blocks
        page.go("#/inside?from=en&to=es&text=the+cat+sees")
        wait_for("the model", lambda: "en-es" in page.find("#inside-lead").text)
        blocks = check_blocks(page, text="the cat sees", target="es")
        assert "decoder/self_attention" in blocks
        assert "decoder/stack" not in blocks  # nothing follows the last layer
        page.check_console()
