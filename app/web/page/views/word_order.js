/** Shows what moving a word changes: the vector of its position, and the translation. */

import { announce, el } from "../frame/dom.js";
import { number, t } from "../frame/strings.js";
import { describe } from "../server/failures.js";
import { post } from "../server/server.js";

/** The dot product of two rows of a table. */
export function dotProduct(table, columns, a, b) {
  let total = 0;
  for (let c = 0; c < columns; c += 1) total += table[a * columns + c] * table[b * columns + c];
  return total;
}

/** The words after one has moved by a number of places. */
export function moved(words, from, by) {
  const to = Math.max(0, Math.min(words.length - 1, from + by));
  const rest = words.filter((_, i) => i !== from);
  return { words: [...rest.slice(0, to), words[from], ...rest.slice(to)], at: to };
}

/** Movable words of a sentence, with the translation of each order. */
export function wordOrder(subject, table, [rows, columns]) {
  const original = subject.text.trim().split(/\s+/);
  let words = original;
  let chosen = Math.min(1, words.length - 1);
  let began = chosen;
  let asked = 0;
  const place = el("div", { className: "words", role: "radiogroup", ariaLabel: t("order.words") });
  const change = el("p", { className: "readout" });
  const before = el("p", { lang: subject.target });
  const after = el("p", { lang: subject.target });

  async function translate(text, where) {
    const answer = await post("translate", { text, source: subject.source, target: subject.target, split_sentences: false });
    where.textContent = answer.translations[0].text;
  }

  async function show(focus) {
    place.replaceChildren(...words.map((word, i) => el("label", {}, el("input", { type: "radio", name: "order-word", value: i, checked: i === chosen, onchange: () => { chosen = began = i; show(true); } }), el("span", {}, word))));
    if (focus) place.querySelectorAll("input")[chosen].focus();
    left.disabled = chosen === 0;
    right.disabled = chosen === words.length - 1;
    const [a, b] = [began, chosen].map((i) => Math.min(i, rows - 1));
    const size = Math.sqrt(Math.max(0, dotProduct(table, columns, a, a) + dotProduct(table, columns, b, b) - 2 * dotProduct(table, columns, a, b)));
    change.textContent = t("order.change", { word: words[chosen], from: began + 1, to: chosen + 1, size: number(size, 2) });
    const mine = asked += 1;
    await new Promise((done) => setTimeout(done, 250));
    if (mine !== asked) return;
    try {
      await translate(words.join(" "), after);
      if (!before.textContent) await translate(original.join(" "), before);
      announce(after.textContent);
    } catch (error) {
      after.textContent = describe(error);
    }
  }

  const step = (by, name) => el("button", { type: "button", className: "button", onclick: () => { ({ words, at: chosen } = moved(words, chosen, by)); show(); } }, t(name));
  const left = step(-1, "order.left");
  const right = step(1, "order.right");
  show();
  return el("div", { className: "order" }, el("h3", {}, t("order.title")), el("p", {}, t("order.text")), place, el("div", { className: "controls" }, left, right), change,
    el("dl", { className: "before-after" }, el("dt", {}, t("order.before")), el("dd", {}, before), el("dt", {}, t("order.after")), el("dd", {}, after)));
}
