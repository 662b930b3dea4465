/** Errors, shown in the pane where the translation would be. */

import { byId, el } from "../frame/dom.js";
import { describe } from "../server/failures.js";
import { askForKey, isAboutKeys } from "../server/server.js";
import { languageName, list, t } from "../frame/strings.js";

/** The most pairs of languages that are named; beyond, only the number of languages. */
const MOST_PAIRS = 6;

/** "English ↔ French, English → German", or how many languages there are. */
export function pairsInWords(languages) {
  const targets = new Map(languages.map(({ code, targets }) => [code, targets]));
  const pairs = [];
  for (const [source, to] of targets) {
    for (const target of to) {
      const isBoth = targets.get(target)?.includes(source);
      if (target !== source && !(isBoth && target < source)) pairs.push(`${languageName(source)} ${isBoth ? "↔" : "→"} ${languageName(target)}`);
    }
  }
  return pairs.length > MOST_PAIRS ? t("languages.count", { n: targets.size }) : list(pairs);
}

/** A failed request in one or two sentences. */
export function explained(error, { source, languages }) {
  if (error.kind !== "unknown-languages") return describe(error);
  const pairs = t("languages.served", { pairs: pairsInWords(languages) });
  return `${source === "auto" && error.source ? t("error.seems", { language: languageName(error.source) }) : describe(error)} ${pairs}`;
}

export class Problems {
  #store;

  constructor(store) { this.#store = store; }

  /** Show a permanent failure. */
  show(error) {
    const action = isAboutKeys(error) ? el("button", { type: "button", className: "plain", onclick: () => askForKey() }, t("key.enter")) : "";
    this.#say("", explained(error, this.#store.state), " ", action);
  }

  /** Show a temporary failure with the seconds until the next attempt, `now`. */
  countDown(error, seconds, now) {
    // Screen readers announce it once: the countdown is hidden from them.
    const alert = byId("alert");
    if (alert.hidden || alert.dataset.kind !== error.kind) {
      this.#say(error.kind, describe(error), " ", el("span", { className: "countdown", ariaHidden: "true" }), " ",
        el("button", { type: "button", className: "plain", onclick: () => { this.clear(); now(); } }, t("retry.now")));
    }
    alert.querySelector(".countdown").textContent = t("retry.in", { seconds });
  }

  clear() {
    byId("alert").hidden = true;
    delete byId("alert").dataset.kind;
  }

  #say(kind, ...words) {
    const alert = byId("alert");
    alert.dataset.kind = kind;
    alert.replaceChildren(...words);
    alert.hidden = false;
  }
}
