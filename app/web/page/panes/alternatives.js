/** Other translations of one sentence, to choose from. */

import { byId, el, icon } from "../frame/dom.js";
import { describe } from "../server/failures.js";
import { post } from "../server/server.js";
import { number, t } from "../frame/strings.js";

/** Alternatives to request besides the best translation. */
const WANTED = 3;

/** The request for a sentence's alternatives. */
export function alternativesRequest(wish, sentence, beamSize) {
  return { ...wish, text: sentence, alternatives: WANTED, beam_size: Math.max(beamSize, WANTED + 1) };
}

/** Remove translations that differ from an earlier one in white space only. */
export function distinct(found) {
  const seen = new Set();
  return found.filter(({ text }) => {
    const looks = text.replace(/\s+/g, " ").trim();
    return !seen.has(looks) && seen.add(looks);
  });
}

export class Alternatives {
  #store;
  #opener = null;
  #asked = 0;

  constructor(store) {
    this.#store = store;
    const box = byId("alternatives");
    box.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("pointerdown", (event) => {
      if (!box.hidden && !box.contains(event.target)) this.close(false);
    });
  }

  /** Show the alternatives of a sentence below its element. */
  async open(index, node) {
    const { result } = this.#store.state;
    const sentence = result.wish.text.slice(...result.sentences[index].source);
    const box = byId("alternatives");
    const asked = this.#asked += 1;
    this.#opener = node;
    this.#place(box, node);
    box.setAttribute("role", "dialog");
    box.setAttribute("aria-label", t("alternatives"));
    box.replaceChildren(this.#head(), el("p", { className: "quiet" }, t("loading")));
    box.hidden = false;
    try {
      const answer = await post("translate", alternativesRequest({ ...result.wish, source: result.translation.source, target: result.translation.target }, sentence, 4));
      if (asked !== this.#asked) return;
      const [best] = answer.translations;
      const found = distinct([{ text: best.text, score: best.score }, ...best.alternatives]);
      box.replaceChildren(this.#head(), this.#list(sentence, found));
      (box.querySelector("[aria-pressed=true]") ?? box.querySelector("li button"))?.focus();
    } catch (error) {
      if (asked === this.#asked) box.replaceChildren(this.#head(), el("p", { className: "wrong" }, describe(error)));
    }
  }

  /** Hide the list and return the focus to the sentence. */
  close(withFocus = true) {
    this.#asked += 1;
    byId("alternatives").hidden = true;
    if (!withFocus) return;
    const index = this.#opener?.dataset.s;
    byId("translation").querySelector(`.s[data-s="${index}"]`)?.focus();
  }

  #place(box, node) {
    const rects = node.getClientRects();
    const rect = rects[rects.length - 1];
    const frame = byId("view-translate").getBoundingClientRect();
    const width = Math.min(560, frame.width);
    box.style.width = `${width}px`;
    box.style.top = `${rect.bottom - frame.top + 8}px`;
    box.style.left = `${Math.max(0, Math.min(rects[0].left - frame.left, frame.width - width))}px`;
  }

  #head() {
    return el("div", { className: "bar" }, el("h2", {}, t("alternatives")), el("span", { className: "spring" }),
      el("button", { type: "button", className: "icon", ariaLabel: t("alternatives.close"), title: t("alternatives.close"), onclick: () => this.close() }, icon("m5 5 10 10M15 5 5 15")));
  }

  #list(sentence, found) {
    const { choices } = this.#store.state;
    const chosen = choices[sentence] ?? found[0].text;
    const choose = (text, isBest) => {
      const { [sentence]: _, ...others } = this.#store.state.choices;
      this.#store.set({ choices: isBest ? others : { ...others, [sentence]: text } });
      this.close();
    };
    const items = found.map(({ text, score }, rank) => el("li", {},
      el("button", { type: "button", ariaPressed: String(text === chosen), onclick: () => choose(text, rank === 0) },
        el("span", { lang: this.#store.state.target, dir: "auto" }, text),
        el("small", {}, t("alternatives.score", { score: number(score, 2) }) + (rank ? "" : ` · ${t("alternatives.original")}`)))));
    const none = found.length > 1 ? null : el("p", { className: "quiet" }, t("alternatives.none"));
    return el("div", {}, el("ul", {}, items), none);
  }

  #key(event) {
    if (event.key === "Escape") this.close();
    const buttons = [...byId("alternatives").querySelectorAll("li button")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !buttons.length) return;
    event.preventDefault();
    buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length].focus();
  }
}
