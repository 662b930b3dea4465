"""The translator: typing, languages, sentences, words, glossary, files, undo, links."""

import json
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser.driving import Page, wait_for

TEXT = "The house is green. Where is the station?"


def translate(page: Page, **body: object) -> dict[str, object]:
    answer = httpx.post(f"{page.server}/translate", json={"target": "fr"} | body, timeout=60)
    translation: dict[str, object] = answer.raise_for_status().json()["translations"][0]
    return translation


def test_typing_translates(page: Page) -> None:
    page.type(TEXT)
    assert page.translated(TEXT) == translate(page, text=TEXT)["text"]
    assert "English" in page.find("#detected").text
    assert len(page.all("#translation .s")) == len(page.all("#mirror .s")) == 2
    page.type(Keys.BACKSPACE * len(TEXT))
    wait_for("nothing", lambda: page.translation == "")


def test_languages_swap(page: Page) -> None:
    page.type("The house is green.")
    translation = page.translated("The house is green.")
    page.find("#swap").click()
    page.translated(translation)
    assert page.find("#source-language").get_attribute("value") == "fr"
    assert page.find("#target-language").get_attribute("value") == "en"
    assert page.translation == translate(page, text=translation, source="fr", target="en")["text"]


def test_a_text_in_the_target_language_turns_the_target_round(page: Page) -> None:
    page.go("")
    page.type("La maison est verte et le jardin est petit.")
    page.translated("petit.")
    assert page.find("#target-language").get_attribute("value") == "en"


def test_a_sentence_has_alternatives_and_the_choice_can_be_undone(page: Page) -> None:
    page.type(TEXT)
    before = page.translated(TEXT)
    page.all("#translation .s")[0].click()
    wait_for("alternatives", lambda: len(page.all("#alternatives li")) > 1)
    texts = [one.text for one in page.all("#alternatives li button span")]
    scores = [one.text for one in page.all("#alternatives li small")]
    answer = translate(page, text="The house is green.", source="en", beam_size=4, alternatives=3)
    others = [one["text"] for one in answer["alternatives"]]  # type: ignore[attr-defined]
    looks = [" ".join(one.split()) for one in (str(answer["text"]), *others)]
    assert texts == list(dict.fromkeys(looks))  # as they look, each once
    assert all("score -" in score for score in scores)
    page.all("#alternatives li button")[1].click()
    wait_for("the choice", lambda: page.translation == before.replace(texts[0], texts[1]))
    assert not page.find("#alternatives").is_displayed()
    page.find("#undo").click()
    wait_for("the best again", lambda: page.translation == before)
    page.find("#redo").click()
    wait_for("the choice again", lambda: texts[1] in page.translation)


def test_words_and_sentences_light_up_together(page: Page) -> None:
    page.type(TEXT)
    page.translated(TEXT)
    word = page.all("#translation .s")[0].find_elements("css selector", ".w")[1]
    ActionChains(page.driver).move_to_element(word).perform()
    wait_for("the link", lambda: page.all("#mirror .w.linked"))
    assert [one.get_attribute("textContent") for one in page.all("#mirror .w.linked")] == ["house"]
    assert len(page.all("#mirror .s.lit")) == len(page.all("#translation .s.lit")) == 1


def test_the_caret_chooses_the_sentence(page: Page) -> None:
    page.type(TEXT)
    page.translated(TEXT)
    for position, index in ((2, 0), (len(TEXT), 1)):
        page.run(
            "document.getElementById('text').setSelectionRange(...arguments)", position, position
        )
        current = [str(index)]
        wait_for("the sentence", lambda current=current: (  # type: ignore[misc]
            page.each("#translation .s.current", "dataset.s") == current
        ))  # fmt: skip


def test_doubtful_words_are_marked_and_described(page: Page) -> None:
    page.type("The keys to the old cabinet are on the table.")
    page.translated("table.")
    marked = page.all('#translation [class*="doubt-"]')
    assert marked
    assert "confidence" in str(marked[0].get_attribute("title"))
    page.find("#show-confidence").click()
    assert not page.all("#translation.doubtful")


def test_everything_can_be_undone(page: Page) -> None:
    page.type(TEXT)
    page.translated(TEXT)
    page.find("#clear").click()
    wait_for("nothing", lambda: page.find("#text").get_attribute("value") == "")
    page.type(Keys.CONTROL + "z")
    page.translated(TEXT)
    page.find("#swap").click()
    wait_for("the swap", lambda: page.find("#source-language").get_attribute("value") == "fr")
    page.find("#undo").click()
    wait_for("the old", lambda: page.find("#source-language").get_attribute("value") == "auto")
    assert page.find("#text").get_attribute("value") == TEXT


def test_at_first_there_is_nothing_to_undo(page: Page) -> None:
    assert page.find("#target-language").get_attribute("value") == "fr"
    assert not page.find("#undo").is_enabled()
    assert page.all("#hint button")
    page.all("#hint button")[0].click()
    page.translated("table.")
    assert page.find("#undo").is_enabled()


def test_an_address_reproduces_what_is_there(page: Page) -> None:
    page.type(TEXT)
    translation = page.translated(TEXT)
    address = page.driver.current_url
    page.driver.get("about:blank")
    page.driver.get(address)
    assert page.translated(TEXT) == translation


def test_another_view_and_back_translates_nothing_again(page: Page) -> None:
    script = "return performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/translate')).length"  # noqa: E501
    page.type(TEXT)
    page.translated(TEXT)
    before = page.run(script)
    page.view("api")
    page.view("translate")
    page.find("#share").click()  # time for an unwanted request
    wait_for("the message", lambda: "copied" in page.find("#toast").text)
    assert page.run(script) == before
    assert page.translation


def test_the_glossary_is_used(page: Page) -> None:
    page.type("The house is green.")
    assert "demeure" not in page.translated("green.")
    page.find("#glossary-open").click()
    term, translation = page.all("#glossary-rows input")[:2]
    term.send_keys("house")
    translation.send_keys("demeure")
    [word] = wait_for(
        "the term",
        lambda: [one for one in page.each("#translation .w", "outerHTML") if "demeure" in one],
    )
    assert page.find("#glossary-count").text == "1"
    assert "doubt" not in word
    assert "term=" in page.driver.current_url


def test_markup_stays(page: Page) -> None:
    page.find('[name="format"][value="html"]').find_element("xpath", "..").click()
    page.type("<p>The <b>house</b> is green.</p>")
    wait_for("markup", lambda: "<b>maison</b>" in page.translation)


def test_html_is_recognised_and_texts_run_in_their_direction(page: Page) -> None:
    page.type("<p>The <b>house</b> is green.</p>")
    wait_for("markup", lambda: "<b>maison</b>" in page.translation)
    assert "HTML" in page.find("#toast").text
    page.find("#toast button").click()
    assert page.find('[name="format"][value="text"]').is_selected()
    page.find("#clear").click()
    page.type("שלום")
    assert page.find("#text").get_attribute("dir") == "rtl"
    assert page.find("#translation").get_attribute("dir") == "ltr"
    page.expected_errors = ("/translate",)  # which is not in English


def test_a_finger_links_words_and_a_button_opens_the_alternatives(page: Page) -> None:
    page.type("The house is green.")
    page.translated("green.")
    assert not page.find("#other").is_displayed()
    page.tap(page.all("#translation .w")[1])
    wait_for("the link", lambda: page.all("#mirror .w.linked"))
    assert "Tap" in page.find("#hint").text
    assert not page.find("#alternatives").is_displayed()
    page.tap(page.find("#other"))
    wait_for("alternatives", lambda: page.all("#alternatives li"))


def test_the_request_is_shown_as_a_program_sends_it(page: Page) -> None:
    page.type("The house is green.")
    translation = page.translated("green.")
    page.find("#exchange summary").click()

    def displayed() -> dict[str, object]:
        found: dict[str, object] = json.loads(page.find("#exchange code").text)
        return found

    body = displayed()
    assert body == {"text": "The house is green.", "source": "auto", "target": "fr"}
    page.run("document.querySelector('#exchange [value=\"exchange.answer\"]').click()")
    answer = httpx.post(f"{page.server}/translate", json=body, timeout=60).json()
    assert displayed()["translations"] == answer["translations"]
    assert translation == answer["translations"][0]["text"]
    page.run("document.querySelector('#exchange [value=\"curl\"]').click()")
    assert page.find("#exchange code").text.startswith(f"curl {page.server}/translate")


def test_a_browser_keeps_translations_and_glossaries(page: Page) -> None:
    page.type("The house is green.")
    translation = page.translated("green.")
    page.find("#saved summary").click()
    wait_for("the entry", lambda: translation in page.find("#saved").text)
    page.find("#glossary-open").click()
    page.all("#glossary-rows input")[0].send_keys("house")
    page.find("#glossary-name").send_keys("mine")
    page.find("#glossary-save").click()
    page.go("")
    page.find("#saved summary").click()
    page.find("#saved li button").click()
    assert page.translated("green.") == translation
    page.find("#glossary-open").click()
    page.run(
        "const list = document.getElementById('glossary-choose'); list.value = 'mine';"
        "list.dispatchEvent(new Event('change'))"
    )
    wait_for("the term", lambda: "house" in page.translation)
    page.find("#saved .switch").click()
    assert not page.all("#saved li")
    page.go("")
    assert page.run("return localStorage.getItem('attend.history')") is None


def test_flags_are_explained(page: Page) -> None:
    page.type("Ꙭ Ꙭ")  # no model has this source language
    wait_for("a flag", lambda: page.all("#flags li"))
    assert all("flag." not in one.text for one in page.all("#flags li"))


@pytest.mark.parametrize(
    ("name", "translated", "content"),
    [("a.txt", "a.fr.txt", "The house is green.\n"), ("b.md", "b.fr.md", "# Hi\n")],
)
def test_a_file_is_translated(
    page: Page, tmp_path: Path, name: str, translated: str, content: str
) -> None:
    (tmp_path / name).write_text(content)
    page.find("#file").send_keys(str(tmp_path / name))
    link = wait_for("the link", lambda: page.all("#files a"))[0]
    address = str(link.get_attribute("href"))
    text = httpx.get(address).raise_for_status().text
    if name == "a.txt":
        assert text == f"{translate(page, text=content.strip(), source='en')['text']}\n"
    assert translated in link.text
    page.find("#files button").click()
    assert not page.all("#files li")


def test_the_reason_of_an_unreadable_file_is_shown(page: Page, tmp_path: Path) -> None:
    page.expected_errors = ("translate_file",)
    (tmp_path / "broken.json").write_text("{")
    page.find("#file").send_keys(str(tmp_path / "broken.json"))
    message = wait_for("the fault", lambda: page.all("#files .wrong"))[0]
    assert message.text


def test_the_interface_is_available_in_other_languages(page: Page) -> None:
    for code, word, english in (("fr", "Traduire", "Anglais"), ("de", "Übersetzen", "Englisch")):
        page.run(
            "const list = document.getElementById('locale'); list.value = arguments[0];"
            "list.dispatchEvent(new Event('change'))", code,
        )  # fmt: skip
        tab = page.find('[data-view="translate"]')
        wait_for(code, lambda tab=tab, word=word: tab.text == word)  # type: ignore[misc]
        assert page.find("html").get_attribute("lang") == code
        assert english in page.find("#source-language").text
    page.go("")
    assert page.find('[data-view="translate"]').text == "Übersetzen"


def test_a_language_that_is_not_served_is_named_in_the_pane(page: Page) -> None:
    page.expected_errors = ("/translate",)
    page.type("Ich möchte gerne wissen, wie spät es ist.")
    alert = wait_for("the reason", lambda: page.all(".pane.target #alert:not([hidden])"))[0]
    assert alert.text == "This seems to be German. This server translates English ↔ French."


def test_a_wrong_source_language_is_noticed(page: Page) -> None:
    page.find("#swap").click()  # from French, unlike the next text
    page.type("The house is green and the garden is small.")
    page.translated("small.")
    wait_for("the suggestion", lambda: page.all("#detected button"))[0].click()
    wait_for("the language", lambda: page.find("#source-language").get_attribute("value") == "en")
    wait_for("French", lambda: "maison" in page.translation)
    assert page.find("#target-language").get_attribute("value") == "fr"


VOICES = """
window.spoken = [];
const voices = [{ lang: "fr-FR", localService: true }, { lang: "en-GB", localService: false }];
window.SpeechSynthesisUtterance = function (text) { this.text = text; };
speechSynthesis.getVoices = () => voices;
speechSynthesis.speak = (utterance) => spoken.push(utterance);
speechSynthesis.cancel = () => spoken.push(null);
"""


def test_a_translation_is_read_aloud_by_a_voice_of_the_device(page: Page) -> None:
    page.run(VOICES)
    page.type("The house is green.")
    translation = page.translated("green.")
    button = wait_for("the button", lambda: page.all("#speak-target:not([hidden])"))[0]
    assert not page.find("#speak-source").is_displayed()  # its voice is not local
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert page.run("return spoken.map((one) => one && [one.text, one.lang])") == [
        [translation, "fr-FR"],
        None,
    ]
    button.click()
    page.run("spoken.at(-1).onend()")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    page.find("#clear").click()
    wait_for("silence", lambda: page.run("return spoken.at(-1)") is None)
    assert not page.find("#speak-target").is_displayed()


def test_long_texts_are_translated_without_words(page: Page) -> None:
    text = "The house is green. " * 300
    page.run(
        "const area = document.getElementById('text'); area.value = arguments[0];"
        "area.dispatchEvent(new Event('input'))", text,
    )  # fmt: skip
    wait_for("all", lambda: len(page.all("#translation .s")) == 300)
    assert not page.all("#translation .w")
