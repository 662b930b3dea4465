/** Sentences and words of both panes as elements, highlighted in pairs. */

import { byId, el } from "../frame/dom.js";
import { percent, t } from "../frame/strings.js";
import { differences, doubt, linkedTo, sentenceAt } from "./words.js";

/** The most sentences whose words become elements. */
const MOST_WITH_WORDS = 200;

/** The most differences to list for a flag. */
const MOST_DIFFERENCES = 5;

/** A difference as a sentence: “24 h” is “24 AM” in the translation. */
const inWords = ([, source, target]) => t(source && target ? "fault.other" : source ? "fault.lost" : "fault.added", { source, target });

/** The differences that a flag reports, as sentences. */
export function described({ wish, translation, sentences }, flag) {
  const found = sentences.flatMap((sentence) => differences(wish.text, translation.text, sentence));
  return found.filter(([name]) => name === flag).slice(0, MOST_DIFFERENCES).map(inWords);
}

/** The first matching element below the pointer, even behind the text area. */
function below(event, selector) {
  return document.elementsFromPoint(event.clientX, event.clientY).find((node) => node.matches(selector));
}

export class Highlights {
  /** The translation as shown, with the chosen alternatives. */
  text = "";
  #store;
  #open;
  #nodes = [];
  #wanted = new Set();
  #isTouch = false;
  #lit = [];

  /** `open(index, node)` is called for a sentence that is clicked. */
  constructor(store, open) {
    this.#store = store;
    this.#open = open;
    const translation = byId("translation");
    const area = byId("text");
    translation.addEventListener("pointermove", (event) => this.#hover("target", event.target.closest?.(".w"), event.target.closest?.(".s")));
    area.addEventListener("pointermove", (event) => {
      area.title = below(event, ".mirror .fault")?.title ?? "";
      this.#hover("source", below(event, ".mirror .w"), below(event, ".mirror .s"));
    });
    // A finger leaves after each tap, so its highlights stay.
    for (const node of [translation, area]) node.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") this.#light([]); });
    area.addEventListener("click", (event) => this.#hover("source", below(event, ".mirror .w"), below(event, ".mirror .s")));
    translation.addEventListener("pointerdown", ({ pointerType }) => { this.#isTouch = pointerType === "touch"; });
    translation.addEventListener("click", (event) => this.#click(event.target.closest(".w"), event.target.closest(".s")));
    translation.addEventListener("keydown", (event) => this.#key(event));
    translation.addEventListener("focusin", (event) => {
      const index = Number(event.target.dataset.s);
      if (event.target.matches(".s")) this.#choose(index);
    });
    document.addEventListener("selectionchange", () => {
      if (document.activeElement !== area) return;
      const sentences = this.#store.state.result?.sentences ?? [];
      const index = sentenceAt(sentences, "source", area.selectionStart);
      if (index >= 0 && this.#nodes.length) this.#choose(index);
    });
  }

  /** Show the source before its sentences are known. */
  plain(text) {
    if (this.#store.state.result?.wish.text === text && this.#nodes.length) return;
    this.#nodes = [];
    byId("mirror").replaceChildren(text + "\u200b");
  }

  /** Show the beginning of a translation. */
  partial(text) {
    this.text = text;
    this.#nodes = [];
    byId("translation").replaceChildren(text);
  }

  /** Show a whole translation, or none. */
  show(result, choices) {
    const translation = byId("translation");
    if (!result) {
      this.text = "";
      this.#nodes = [];
      translation.replaceChildren();
      return;
    }
    const { sentences, wish } = result;
    // The glossary's words are never marked as uncertain, however improbable the model finds them.
    this.#wanted = new Set([...Object.values(wish.glossary), ...wish.do_not_translate].flatMap((term) => term.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []));
    this.#nodes = sentences.map(() => ({ source: null, target: null, sourceWords: [], targetWords: [] }));
    const source = this.#pieces(wish.text, "source", sentences, {});
    const target = this.#pieces(result.translation.text, "target", sentences, choices);
    if (wish.text === this.#store.state.text) byId("mirror").replaceChildren(...source, "\u200b");
    const hadFocus = translation.contains(document.activeElement) ? document.activeElement.dataset.s : null;
    translation.replaceChildren(...target);
    this.text = translation.textContent;
    const area = byId("text");
    const atCaret = document.activeElement === area ? sentenceAt(sentences, "source", area.selectionStart) : this.#store.state.sentence;
    this.#choose(Math.min(atCaret, sentences.length - 1));
    if (hadFocus !== null) this.#nodes[hadFocus]?.target.focus();
  }

  /** The pieces of a side: an element for each sentence, and the text between them. */
  #pieces(text, side, sentences, choices) {
    const withWords = sentences.length <= MOST_WITH_WORDS;
    const pieces = [];
    let at = 0;
    sentences.forEach((sentence, index) => {
      const [from, to] = sentence[side];
      pieces.push(text.slice(at, from));
      const said = this.#store.state.result.wish.text.slice(...sentence.source);
      const choice = side === "target" ? choices[said] : undefined;
      const words = withWords && choice === undefined ? sentence[`${side}Words`] : [];
      const properties = side === "target"
        ? { className: choice === undefined ? "s" : "s chosen", tabIndex: -1, role: "button", ariaHasPopup: "dialog" }
        : { className: "s" };
      const node = el("span", properties, choice ?? this.#words(text, from, to, words, side, index, sentence));
      node.dataset.s = index;
      this.#nodes[index][side] = node;
      pieces.push(node);
      at = to;
    });
    pieces.push(text.slice(at));
    return pieces;
  }

  #words(text, from, to, words, side, index, sentence) {
    const pieces = [];
    const faults = this.#faults(side, sentence);
    /** Add the text from `start` to `end`, inside the element of its fault if it has one. */
    const add = (start, end, node) => {
      if (start === end) return;
      const fault = faults.find(({ place }) => place[0] < end && start < place[1]);
      if (!fault) {
        pieces.push(node);
        return;
      }
      if (!fault.node) pieces.push(fault.node = el("span", { className: "fault", title: fault.title }));
      if (node instanceof Element) node.title = fault.title;
      fault.node.append(node);
    };
    /** Add text between words, which may overlap a fault in part. */
    const addText = (start, end) => {
      const edges = faults.flatMap(({ place }) => place).filter((edge) => start < edge && edge < end).sort((a, b) => a - b);
      [...edges, end].reduce((from, to) => (add(from, to, text.slice(from, to)), to), start);
    };
    let at = from;
    words.forEach(([start, end], word) => {
      if (start < at) return; // placeholders may share a place
      addText(at, start);
      const node = el("span", { className: "w" }, text.slice(start, end));
      node.dataset.w = word;
      if (side === "target") {
        const confidence = sentence.confidence[word];
        const level = this.#wanted.has(node.textContent.toLowerCase()) ? 0 : doubt(confidence);
        if (level) node.classList.add(`doubt-${level}`);
        if (confidence !== null) node.title = t("confidence.word", { word: node.textContent, percent: percent(confidence) });
      }
      this.#nodes[index][`${side}Words`][word] = node;
      add(start, end, node);
      at = end;
    });
    addText(at, to);
    return pieces;
  }

  /** The places of a sentence's faults on a side, with their descriptions. */
  #faults(side, sentence) {
    const { wish, translation } = this.#store.state.result;
    const titles = differences(wish.text, translation.text, sentence).map(inWords);
    return sentence.faults.flatMap((fault, at) => fault[side].map((place) => ({ place, title: titles[at], node: null })));
  }

  #hover(side, word, sentence) {
    if (!sentence) {
      this.#light([]);
      return;
    }
    const index = Number(sentence.dataset.s);
    const nodes = this.#nodes[index];
    const { links } = this.#store.state.result?.sentences[index] ?? {};
    if (!nodes || !links) return;
    const lit = [[nodes.source, "lit"], [nodes.target, "lit"]];
    if (word) {
      const number = Number(word.dataset.w);
      const other = side === "source" ? "target" : "source";
      lit.push([word, "linked"], ...linkedTo(links, side, number).map((there) => [nodes[`${other}Words`][there], "linked"]));
    }
    this.#light(lit);
  }

  #light(lit) {
    for (const [node, name] of this.#lit) node.classList.remove(name);
    this.#lit = lit.filter(([node]) => node);
    for (const [node, name] of this.#lit) node.classList.add(name);
  }

  /** Make a sentence the current one, which the other views show. */
  #choose(index) {
    this.#nodes.forEach((nodes, other) => {
      for (const node of [nodes.source, nodes.target]) node?.classList.toggle("current", other === index && this.#nodes.length > 1);
      nodes.target?.setAttribute("tabindex", other === index ? "0" : "-1");
    });
    byId("translation").tabIndex = this.#nodes.length ? -1 : 0;
    if (index >= 0) this.#store.set({ sentence: index });
  }

  #key(event) {
    const index = Number(event.target.dataset?.s);
    if (!event.target.matches(".s")) return;
    const to = { ArrowRight: index + 1, ArrowDown: index + 1, ArrowLeft: index - 1, ArrowUp: index - 1, Home: 0, End: this.#nodes.length - 1 }[event.key];
    if (to !== undefined && this.#nodes[to]) {
      event.preventDefault();
      this.#nodes[to].target.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#openAt(event.target);
    }
  }

  /** A mouse click opens the sentence's alternatives; a tap highlights the word, since a finger cannot hover. */
  #click(word, sentence) {
    if (!this.#isTouch) {
      this.#openAt(sentence);
      return;
    }
    this.#hover("target", word, sentence);
    if (sentence) this.#choose(Number(sentence.dataset.s));
  }

  /** Open the alternatives of the sentence at the caret, or of the one tapped last. */
  openCurrent() {
    const { sentence } = this.#store.state;
    const node = this.#nodes[sentence]?.target;
    if (node) this.#open(sentence, node);
  }

  #openAt(node) {
    if (node && !String(getSelection())) this.#open(Number(node.dataset.s), node);
  }
}
