/** The languages of the two panes: chosen, swapped, reversed or suggested. */

import { byId, el } from "../frame/dom.js";
import { post } from "../server/server.js";
import { languageName, t } from "../frame/strings.js";
import { directionOf, fill, noteRecent, recentTarget, targetsOf } from "./languages.js";

/** Probability from which a detected language counts. */
const PROBABLE = 0.6;

/** Probability from which another source language is suggested, and the shortest text for it. */
const CERTAIN = 0.9;
const SHORTEST = 12;

/** Characters of it that are enough. */
const LONGEST = 1000;

export class LanguageChoice {
  #store;
  #history;
  #isTargetChosen;

  constructor(store, history) {
    this.#store = store;
    this.#history = history;
    this.#isTargetChosen = Boolean(store.state.target);
  }

  /** Choose a language for a side, "source" or "target". */
  choose(side, code) {
    const { source, target, languages } = this.#store.state;
    if (code !== "auto") noteRecent(side, code);
    if (side === "source") {
      const targets = targetsOf(languages, code);
      const fitting = targets.includes(target) && target !== code ? target : recentTarget(targets) ?? targets[0];
      this.#store.set({ source: code, target: fitting });
    } else {
      this.#isTargetChosen = true;
      const stays = targetsOf(languages, source).includes(code);
      this.#store.set({ target: code, source: stays ? source : "auto" });
    }
  }

  /** Swap the sides; the translation becomes the source. */
  swap(translation) {
    const { source, target, result, languages, text } = this.#store.state;
    const from = source === "auto" ? result?.translation.source : source;
    if (!languages.some(({ code }) => code === target)) return;
    const targets = targetsOf(languages, target);
    this.#isTargetChosen = true;
    this.#history.settle();
    this.#store.set({ source: target, target: from && targets.includes(from) ? from : targets[0], text: (result && translation) || text, choices: {} });
  }

  /** Reverse the direction if the text is in the target language. Returns whether it did. */
  reverse({ detected, source, target }) {
    if (this.#isTargetChosen || !detected || source !== target || detected.confidence <= PROBABLE) return false;
    const others = targetsOf(this.#store.state.languages, source).filter((code) => code !== source);
    if (!others.length) return false;
    const reversed = { target: recentTarget(others) ?? others[0] };
    this.#history.amend(reversed);
    this.#store.set(reversed);
    return true;
  }

  /** Choose the first languages, once those of the server are known. */
  begin() {
    const { languages, settings, source, target } = this.#store.state;
    const codes = languages.map(({ code }) => code);
    const from = source === "auto" || codes.includes(source) ? source : "auto";
    const targets = targetsOf(languages, from);
    const usual = settings.language?.target?.code;
    const first = [target, recentTarget(targets), usual].find((code) => targets.includes(code)) ?? targets[0];
    this.#history.amend({ source: from, target: first });
    this.#store.set({ source: from, target: first });
  }

  /** Fill the lists, and set the languages and directions of the panes. */
  show() {
    const { languages, source, target } = this.#store.state;
    const names = new Map(languages.map(({ code, name }) => [code, name]));
    const auto = el("option", { value: "auto" }, t("language.auto"));
    fill(byId("source-language"), "source", languages.map(({ code }) => code), names, source, [auto]);
    fill(byId("target-language"), "target", targetsOf(languages, "auto"), names, target);
    byId("text").lang = source === "auto" ? "" : source;
    byId("translation").lang = target;
    byId("translation").dir = directionOf(target);
    this.showDirection();
  }

  showDirection() {
    for (const id of ["text", "mirror"]) byId(id).dir = directionOf(this.#store.state.source, this.#store.state.text);
  }

  /** Suggest the detected language of a translated text whose chosen source language seems wrong. */
  async suggest(result) {
    const { source, text, format } = result.wish;
    if (source === "auto" || format !== "text" || text.trim().length < SHORTEST) return;
    const [[found]] = await post("detect", { text: text.slice(0, LONGEST) }).catch(() => [[]]);
    if (result !== this.#store.state.result || !found || found.language === source || found.confidence < CERTAIN) return;
    const served = this.#store.state.languages.find(({ code }) => code === found.language);
    const language = languageName(found.language, served?.name);
    byId("detected").replaceChildren(served
      ? el("button", { type: "button", className: "plain", onclick: () => this.choose("source", found.language) }, t("language.suggested", { language }))
      : t("error.seems", { language }));
  }
}
