/** The two panes: type on the left, read on the right. */

import { Alternatives } from "./alternatives.js";
import { announce, byId, copy, el, toast } from "../frame/dom.js";
import { showFormats, watchFiles } from "./files.js";
import { Glossary, glossaryFields } from "./glossary.js";
import { described, Highlights } from "./highlights.js";
import { watchExchange } from "./exchange.js";
import { showHints } from "./hints.js";
import { watchSearch } from "./language_search.js";
import { directionOf, fill, noteRecent, recentTarget, targetsOf } from "./languages.js";
import { length } from "../frame/offsets.js";
import { Problems } from "./problems.js";
import { stream, whenKeyGiven } from "../server/server.js";
import { languageName, number, percent, t, whenLocaleChanges } from "../frame/strings.js";
import { Translator } from "./translator.js";
import { watchSaved } from "./saved.js";
import { sentencesOf } from "./words.js";
import { keep, kept } from "../state/kept.js";

/** Code points beyond which words are not linked: it would take as long again. */
const MOST_LINKED = 5000;

/** Milliseconds before the beginning of a translation is worth showing. */
const PATIENCE = 250;

/** Whether a text has an element with its end, or one that has none. */
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
  #chosenTarget;
  #chosenFormat = false;
  #isTouch = matchMedia("(pointer: coarse)").matches;
  #problems;
  #settling = null;

  constructor(store, history) {
    this.#store = store;
    this.#history = history;
    this.#chosenTarget = Boolean(store.state.target);
    this.#problems = new Problems(store);
    this.#translator = new Translator((wish, signal) => this.#send(wish, signal), {
      started: () => byId("panes").classList.add("working"),
      answered: (answer, wish) => this.#answered(answer, wish),
      failed: (error) => this.#failed(error),
      waiting: (error, seconds) => this.#countDown(error, seconds),
    });
    const alternatives = new Alternatives(store);
    this.#highlights = new Highlights(store, (index, node) => alternatives.open(index, node));
    this.glossary = new Glossary(store);
    watchFiles(store);
    whenKeyGiven(() => this.#translator.retry());
    this.#watchControls();
    store.watch((state, changed) => this.#changed(state, changed));
    whenLocaleChanges(() => { this.#showLanguages(); this.#showResult(); this.glossary.show(); });
    byId("text").value = store.state.text;
    this.#showSource();
    byId("text").focus({ preventScroll: true });
  }

  /** Show that the server is not there yet; resolves when it is time to try again. */
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
    byId("source-language").onchange = (event) => this.#choose("source", event.target.value);
    byId("target-language").onchange = (event) => { this.#chosenTarget = true; this.#choose("target", event.target.value); };
    for (const radio of document.querySelectorAll("[name=format]")) {
      radio.checked = radio.value === state.format;
      radio.onchange = () => this.#chooseFormat(radio.value);
    }
    byId("swap").onclick = () => this.#swap();
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
    watchSearch(this.#store, (side, code) => { this.#chosenTarget ||= side === "target"; this.#choose(side, code); });
    watchExchange(byId("exchange"), this.#store);
    watchSaved(byId("saved"), this.#store, ({ source, target, format, text: saved }) => {
      this.#history.settle();
      set({ source, target, format, text: saved, choices: {}, sentence: 0 });
      text.focus();
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

  #choose(side, code) {
    const { source, target, languages } = this.#store.state;
    if (code !== "auto") noteRecent(side, code);
    if (side === "source") {
      const targets = targetsOf(languages, code);
      const fitting = targets.includes(target) && target !== code ? target : recentTarget(targets) ?? targets[0];
      this.#store.set({ source: code, target: fitting });
    } else {
      const stays = targetsOf(languages, source).includes(code);
      this.#store.set({ target: code, source: stays ? source : "auto" });
    }
  }

  #swap() {
    const { source, target, result, languages } = this.#store.state;
    const from = source === "auto" ? result?.translation.source : source;
    const codes = languages.map(({ code }) => code);
    if (!codes.includes(target)) return;
    const targets = targetsOf(languages, target);
    this.#chosenTarget = true;
    this.#history.settle();
    this.#store.set({
      source: target, target: from && targets.includes(from) ? from : targets[0],
      text: result && this.#highlights.text ? this.#highlights.text : this.#store.state.text, choices: {},
    });
    byId("text").focus();
  }

  #changed(state, changed) {
    const has = (...names) => names.some((name) => changed.has(name));
    if (has("text") && byId("text").value !== state.text) byId("text").value = state.text;
    if (has("format")) document.querySelector(`[name=format][value=${state.format}]`).checked = true;
    if (has("settings")) showFormats(state.settings.supportedFilesFormat ?? []);
    if (has("glossary")) this.glossary.show();
    const isKnown = !state.languages.length || targetsOf(state.languages, state.source).includes(state.target);
    if (has("languages") || !isKnown) this.#firstLanguages();
    if (has("languages", "source", "target")) this.#showLanguages();
    if (has("languages")) this.#showResult();
    if (has("text", "settings")) this.#showSource();
    if (has("choices") && !has("text")) this.#showResult();
    if (has("text", "source", "target", "format", "glossary", "languages")) this.#ask(!has("text") || has("languages"));
  }

  #firstLanguages() {
    const { languages, settings, source, target } = this.#store.state;
    const codes = languages.map(({ code }) => code);
    const from = source === "auto" || codes.includes(source) ? source : "auto";
    const targets = targetsOf(languages, from);
    const usual = settings.language?.target?.code;
    const first = [target, recentTarget(targets), usual].find((code) => targets.includes(code)) ?? targets[0];
    this.#history.amend({ source: from, target: first });
    this.#store.set({ source: from, target: first });
  }

  #showLanguages() {
    const { languages, source, target } = this.#store.state;
    const names = new Map(languages.map(({ code, name }) => [code, name]));
    const auto = el("option", { value: "auto" }, t("language.auto"));
    fill(byId("source-language"), "source", languages.map(({ code }) => code), names, source, [auto]);
    fill(byId("target-language"), "target", targetsOf(languages, "auto"), names, target);
    byId("text").lang = source === "auto" ? "" : source;
    byId("translation").lang = target;
    byId("translation").dir = directionOf(target);
    this.#showDirection();
  }

  #showDirection() {
    for (const id of ["text", "mirror"]) byId(id).dir = directionOf(this.#store.state.source, this.#store.state.text);
  }

  #showSource() {
    const { text, settings } = this.#store.state;
    const n = length(text);
    const limit = settings.charLimit > 0 ? settings.charLimit : null;
    byId("count").textContent = limit && n > limit / 2 ? t("count", { n: number(n), limit: number(limit) }) : n ? t("count.free", { n: number(n) }) : "";
    byId("count").classList.toggle("wrong", Boolean(limit) && n > limit);
    byId("clear").hidden = !text;
    this.#showDirection();
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
        // Where two models translate one after the other there are no links.
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
    let told = "";
    const segments = [];
    const answer = await stream("translate", body, (event, data) => {
      if (event === "segment") segments.push(data);
      if (event !== "token") return;
      told += data.text;
      if (performance.now() - began > PATIENCE || !this.#store.state.result) this.#highlights.partial(told);
    }, signal);
    if (!answer.translations[0].segments && body.format === "text") answer.translations[0].segments = segments;
    return answer;
  }

  #answered(answer, wish) {
    const [translation] = answer.translations;
    byId("panes").classList.remove("working");
    this.#problems.clear();
    const { detected, source, target } = translation;
    if (!this.#chosenTarget && detected && source === target && detected.confidence > 0.6) {
      const others = targetsOf(this.#store.state.languages, source).filter((code) => code !== source);
      if (others.length) {
        const turned = { target: recentTarget(others) ?? others[0] };
        this.#history.amend(turned);
        this.#store.set(turned);
        return;
      }
    }
    const sentences = translation.segments ? sentencesOf(wish.text, translation) : [];
    this.#store.set({ result: { wish, answer, translation, sentences } });
    this.#showResult();
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => announce(translation.text.length < 300 ? translation.text : `${t("translation")}: ${number(length(translation.text))}`), 1000);
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
  }

  #countDown(error, seconds, now = () => this.#translator.retry()) {
    byId("panes").classList.remove("working");
    this.#problems.countDown(error, seconds, now);
  }
}
