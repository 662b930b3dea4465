/** The two panes: the source on the left, its translation on the right. */

import { announce, byId, copy, el, toast } from "../frame/dom.js";
import { showFormats, watchFiles } from "./files.js";
import { Glossary, glossaryFields } from "./glossary.js";
import { described, Highlights } from "./highlights.js";
import { showHints } from "./hints.js";
import { LanguageChoice } from "./language_choice.js";
import { targetsOf } from "./languages.js";
import { length } from "../frame/offsets.js";
import { Problems } from "./problems.js";
import { stream, whenKeyGiven } from "../server/server.js";
import { languageName, number, percent, t, whenLocaleChanges } from "../frame/strings.js";
import { Translator } from "./translator.js";
import { sentencesOf } from "./words.js";
import { keep, kept } from "../state/kept.js";

/** The most code points of a text whose words are linked: alignment doubles the time. */
const MOST_LINKED = 5000;

/** Milliseconds after which an unfinished translation is shown. */
const PATIENCE = 250;

/** Milliseconds without a new answer after which the last one is announced and its source language checked. */
const SETTLED = 1000;

/** Whether a text has an HTML element: one with an end tag, or a void one. */
export const looksLikeHtml = (text) => /<([a-z][a-z0-9]*)(\s[^<>]*)?>[^]*<\/\1\s*>|<(br|hr|img)\b[^<>]*>/i.test(text);

/** The body of a request for the state. */
export function requestFor({ text, source, target, format, glossary }) {
  return { text, source, target, format, ...glossaryFields(glossary) };
}

export class TranslateView {
  #store;
  #history;
  #translator;
  #highlights;
  #languages;
  #chosenFormat = false;
  #isTouch = matchMedia("(pointer: coarse)").matches;
  #problems;
  #settling = null;
  #idle;

  constructor(store, history) {
    this.#store = store;
    this.#history = history;
    this.#languages = new LanguageChoice(store, history);
    this.#problems = new Problems(store);
    this.#translator = new Translator((wish, signal) => this.#send(wish, signal), {
      started: () => byId("panes").classList.add("working"),
      answered: (answer, wish) => this.#answered(answer, wish),
      failed: (error) => this.#failed(error),
      waiting: (error, seconds) => this.#countDown(error, seconds),
    });
    const extras = new Promise((resolve) => { this.#idle = resolve; }).then(() => this.#loadExtras());
    this.#highlights = new Highlights(store, async (index, node) => (await extras).alternatives.open(index, node));
    this.glossary = new Glossary(store);
    watchFiles(store);
    whenKeyGiven(() => this.#translator.retry());
    this.#watchControls();
    store.watch((state, changed) => this.#changed(state, changed));
    whenLocaleChanges(() => { this.#languages.show(); this.#showResult(); this.glossary.show(); });
    byId("text").value = store.state.text;
    this.#showSource();
    byId("text").focus({ preventScroll: true });
  }

  /** Show that the server is not ready yet; resolves when it is time to try again. */
  wait(error) {
    return new Promise((resolve) => {
      let seconds = Math.ceil(error.retryAfter ?? 2);
      const tick = () => {
        if (seconds <= 0) {
          this.#problems.clear();
          resolve();
          return;
        }
        this.#countDown(error, seconds, () => { seconds = 0; });
        seconds -= 1;
        setTimeout(tick, 1000);
      };
      tick();
    });
  }

  #watchControls() {
    const { state } = this.#store;
    const set = (changes) => this.#store.set(changes);
    const text = byId("text");
    text.oninput = () => this.#typed(text.value);
    text.onblur = () => this.#history.settle();
    text.addEventListener("beforeinput", (event) => {
      if (event.inputType === "insertFromPaste" || event.inputType === "deleteByCut") this.#history.settle();
    });
    for (const side of ["source", "target"]) byId(`${side}-language`).onchange = (event) => this.#languages.choose(side, event.target.value);
    for (const radio of document.querySelectorAll("[name=format]")) {
      radio.checked = radio.value === state.format;
      radio.onchange = () => this.#chooseFormat(radio.value);
    }
    byId("swap").onclick = () => {
      this.#languages.swap(this.#highlights.text);
      text.focus();
    };
    byId("clear").onclick = () => {
      if (!this.#store.state.text) return;
      this.#history.settle();
      set({ text: "", choices: {} });
      text.focus();
      toast(t("cleared"), [t("undo").replace(/ \(.*/, ""), () => byId("undo").click()]);
    };
    byId("copy").onclick = async () => { if (await copy(this.#highlights.text)) toast(t("copied")); };
    byId("share").onclick = async () => { if (await copy(location.href)) toast(t("shared")); };
    const underline = byId("show-confidence");
    underline.checked = kept("uncertain", true);
    underline.onchange = () => { keep("uncertain", underline.checked); this.#showResult(); };
    byId("other").onclick = () => this.#highlights.openCurrent();
    addEventListener("pointerdown", ({ pointerType }) => {
      if (pointerType !== "touch" || this.#isTouch) return;
      this.#isTouch = true;
      showHints(this.#store, this.#isTouch);
    });
  }

  /** Load what the first translation does not need, once it is shown or there is none. */
  async #loadExtras() {
    const { showExtras } = await import("./extras.js");
    return showExtras(this.#store, {
      choose: (side, code) => this.#languages.choose(side, code),
      translation: () => this.#highlights.text,
      restore: ({ source, target, format, text }) => {
        this.#history.settle();
        this.#store.set({ source, target, format, text, choices: {}, sentence: 0 });
        byId("text").focus();
      },
    });
  }

  #typed(text) {
    const isHtml = !this.#chosenFormat && this.#store.state.format === "text" && looksLikeHtml(text);
    this.#store.set({ text, sentence: 0, ...(isHtml ? { format: "html" } : {}) });
    if (isHtml) toast(t("html.detected"), [t("html.asText"), () => this.#chooseFormat("text")]);
  }

  #chooseFormat(format) {
    this.#chosenFormat = true;
    this.#store.set({ format });
  }

  #changed(state, changed) {
    const has = (...names) => names.some((name) => changed.has(name));
    if (has("text") && byId("text").value !== state.text) byId("text").value = state.text;
    if (has("format")) document.querySelector(`[name=format][value=${state.format}]`).checked = true;
    if (has("settings")) showFormats(state.settings.supportedFilesFormat ?? []);
    if (has("glossary")) this.glossary.show();
    const isKnown = !state.languages.length || targetsOf(state.languages, state.source).includes(state.target);
    if (has("languages") || !isKnown) this.#languages.begin();
    if (has("languages", "source", "target")) this.#languages.show();
    if (has("languages")) this.#showResult();
    if (has("text", "settings")) this.#showSource();
    if (has("choices") && !has("text")) this.#showResult();
    if (has("text", "source", "target", "format", "glossary", "languages")) this.#ask(!has("text") || has("languages"));
  }

  #showSource() {
    const { text, settings } = this.#store.state;
    const n = length(text);
    const limit = settings.charLimit > 0 ? settings.charLimit : null;
    byId("count").textContent = limit && n > limit / 2 ? `${number(n)} / ${number(limit)}` : n ? t("count.free", { n: number(n) }) : "";
    byId("count").classList.toggle("wrong", Boolean(limit) && n > limit);
    byId("clear").hidden = !text;
    this.#languages.showDirection();
    this.#highlights.plain(text);
  }

  #ask(atOnce) {
    const { state } = this.#store;
    this.#problems.clear();
    if (!state.languages.length) return;
    if (!state.text.trim()) {
      this.#translator.cancel();
      byId("panes").classList.remove("working");
      this.#store.set({ result: null });
      this.#showResult();
      this.#idle();
      return;
    }
    this.#translator.ask(requestFor(state), atOnce);
  }

  async #send(wish, signal) {
    const isLinked = wish.format === "text" && length(wish.text) <= MOST_LINKED;
    if (isLinked && !this.#isPivoted(wish)) {
      try {
        return await this.#stream({ ...wish, alignment: true }, signal);
      } catch (error) {
        // Two models in sequence give no links.
        if (!error.errors?.some(({ pointer }) => pointer?.endsWith("/alignment"))) throw error;
      }
    }
    return this.#stream(wish, signal);
  }

  #isPivoted({ source, target }) {
    return (this.#store.state.info?.pivoted ?? []).some(([from, , to]) => from === source && to === target);
  }

  async #stream(body, signal) {
    const began = performance.now();
    let received = "";
    const segments = [];
    const answer = await stream("translate", body, (event, data) => {
      if (event === "segment") segments.push(data);
      if (event !== "token") return;
      received += data.text;
      if (performance.now() - began > PATIENCE || !this.#store.state.result) this.#highlights.partial(received);
    }, signal);
    if (!answer.translations[0].segments && body.format === "text") answer.translations[0].segments = segments;
    return answer;
  }

  #answered(answer, wish) {
    const [translation] = answer.translations;
    byId("panes").classList.remove("working");
    this.#problems.clear();
    if (this.#languages.reverse(translation)) return;
    const sentences = translation.segments ? sentencesOf(wish.text, translation) : [];
    const result = { wish, answer, translation, sentences };
    this.#store.set({ result });
    this.#showResult();
    this.#idle();
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      announce(translation.text.length < 300 ? translation.text : `${t("translation")}: ${number(length(translation.text))}`);
      this.#languages.suggest(result);
    }, SETTLED);
  }

  #showResult() {
    const { result, choices, languages } = this.#store.state;
    const translation = result?.translation;
    this.#highlights.show(result, choices);
    const names = new Map(languages.map(({ code, name }) => [code, name]));
    const detected = translation?.detected;
    byId("detected").textContent = detected ? t("detected", { language: languageName(detected.language, names.get(detected.language)), percent: percent(detected.confidence) }) : "";
    byId("via").textContent = translation?.pivot ? t("via", { language: languageName(translation.pivot, names.get(translation.pivot)) }) : "";
    byId("confidence").textContent = translation ? t("confidence.whole", { percent: percent(translation.confidence) }) : "";
    byId("flags").replaceChildren(...(translation?.flags ?? []).map((flag) => el("li", {}, [t(`flag.${flag}`), ...described(result, flag)].join(" "))));
    for (const id of ["copy", "share"]) byId(id).disabled = !translation;
    showHints(this.#store, this.#isTouch);
  }

  #failed(error) {
    byId("panes").classList.remove("working");
    this.#store.set({ result: null });
    this.#showResult();
    this.#problems.show(error);
    this.#idle();
  }

  #countDown(error, seconds, now = () => this.#translator.retry()) {
    byId("panes").classList.remove("working");
    this.#problems.countDown(error, seconds, now);
    this.#idle();
  }
}
