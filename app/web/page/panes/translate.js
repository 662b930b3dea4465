/** The two panes: type on the left, read on the right. */

import { Alternatives } from "./alternatives.js";
import { announce, byId, copy, el, toast } from "../frame/dom.js";
import { describe } from "../server/failures.js";
import { showFormats, watchFiles } from "./files.js";
import { Glossary, glossaryFields } from "./glossary.js";
import { described, Highlights } from "./highlights.js";
import { fill, noteRecent, recentTarget, targetsOf } from "./languages.js";
import { length } from "../frame/offsets.js";
import { stream } from "../server/server.js";
import { languageName, number, percent, t, whenLocaleChanges } from "../frame/strings.js";
import { Translator } from "./translator.js";
import { sentencesOf } from "./words.js";

/** Code points beyond which words are not linked: it would take as long again. */
const MOST_LINKED = 5000;

/** Milliseconds before the beginning of a translation is worth showing. */
const PATIENCE = 250;

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
  #settling = null;

  constructor(store, history) {
    this.#store = store;
    this.#history = history;
    this.#chosenTarget = Boolean(store.state.target);
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
          this.#clearAlert();
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
    text.oninput = () => set({ text: text.value, sentence: 0 });
    text.onblur = () => this.#history.settle();
    text.addEventListener("beforeinput", (event) => {
      if (event.inputType === "insertFromPaste" || event.inputType === "deleteByCut") this.#history.settle();
    });
    byId("source-language").onchange = (event) => this.#choose("source", event.target.value);
    byId("target-language").onchange = (event) => { this.#chosenTarget = true; this.#choose("target", event.target.value); };
    for (const radio of document.querySelectorAll("[name=format]")) {
      radio.checked = radio.value === state.format;
      radio.onchange = () => set({ format: radio.value });
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
    byId("show-confidence").onchange = (event) => byId("translation").classList.toggle("doubtful", event.target.checked);
    byId("translation").classList.add("doubtful");
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
  }

  #showSource() {
    const { text, settings } = this.#store.state;
    const n = length(text);
    const limit = settings.charLimit > 0 ? settings.charLimit : null;
    byId("count").textContent = limit && n > limit / 2 ? t("count", { n: number(n), limit: number(limit) }) : n ? t("count.free", { n: number(n) }) : "";
    byId("count").classList.toggle("wrong", Boolean(limit) && n > limit);
    byId("clear").hidden = !text;
    this.#highlights.plain(text);
  }

  #ask(atOnce) {
    const { state } = this.#store;
    this.#clearAlert();
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
    this.#clearAlert();
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
    byId("hint").replaceChildren(...this.#hint());
    for (const id of ["copy", "share"]) byId(id).disabled = !translation;
  }

  #hint() {
    const { result, text, languages } = this.#store.state;
    if (result?.sentences.length) return [t("hint")];
    if (text || !languages.some(({ code }) => code === "en")) return [];
    const example = (name) => el("button", { type: "button", className: "plain", lang: "en", onclick: () => this.#store.set({ text: t(name) }) }, t(name));
    return [t("try"), " ", example("example"), example("example.other")];
  }

  #failed(error) {
    byId("panes").classList.remove("working");
    byId("alert").replaceChildren(describe(error));
    byId("alert").hidden = false;
  }

  #countDown(error, seconds, now = () => this.#translator.retry()) {
    byId("panes").classList.remove("working");
    const alert = byId("alert");
    // Said once by screen readers: the number that goes down is not part of what is announced.
    if (alert.hidden || alert.dataset.kind !== error.kind) {
      alert.dataset.kind = error.kind;
      alert.replaceChildren(describe(error), " ", el("span", { className: "countdown", ariaHidden: "true" }), " ",
        el("button", { type: "button", className: "plain", onclick: () => { this.#clearAlert(); now(); } }, t("retry.now")));
      alert.hidden = false;
    }
    alert.querySelector(".countdown").textContent = t("retry.in", { seconds });
  }

  #clearAlert() {
    byId("alert").hidden = true;
    delete byId("alert").dataset.kind;
  }
}

