/** Two sentences side by side, with the self-attention of one token of each. */

import { el } from "../frame/dom.js";
import { t } from "../frame/strings.js";
import { describe } from "../server/failures.js";
import { post } from "../server/server.js";
import { decodeHalf } from "./half.js";
import { lineView } from "./lines.js";
import { headOf } from "./maps.js";
import { label } from "./tokens.js";

const PAIR = ["The animal did not cross the street because it was too tired.", "The animal did not cross the street because it was too wide."];
const WORD = "▁it";

/** The token to start with: the pronoun of the example, else the last but one. */
export function firstToken(pieces) {
  const at = pieces.lastIndexOf(WORD);
  return at < 0 ? Math.max(0, pieces.length - 2) : at;
}

/** {layer, head} in which the chosen tokens of two sentences attend most differently; null if their lengths differ. */
export function mostDifferent(one, other) {
  if (`${one.shape}` !== `${other.shape}`) return null;
  const [layers, heads, , columns] = one.shape;
  const row = ({ shape, weights, token }, layer, head) => headOf(weights, shape, layer, head).subarray(token * columns, (token + 1) * columns);
  let best = { difference: -1 };
  for (let layer = 0; layer < layers; layer += 1) {
    for (let head = 0; head < heads; head += 1) {
      const there = row(other, layer, head);
      const difference = row(one, layer, head).reduce((sum, weight, column) => sum + Math.abs(weight - there[column]), 0);
      if (difference > best.difference) best = { layer, head, difference };
    }
  }
  return { layer: best.layer, head: best.head };
}

/** A section for the languages of a subject. `headAt()` returns the encoder's {layer, head} to show, or null. */
export function compareSection(subject, headAt) {
  const texts = subject.source === "en" ? PAIR : [subject.text, ""];
  const shown = el("p", { className: "readout" });

  function draw() {
    const found = sides.map((side) => side.found).filter(Boolean);
    const given = headAt();
    const most = !given && found.length === 2 ? mostDifferent(...found) : null;
    for (const side of sides) side.draw(given ?? most ?? {});
    const { layer, head } = most ?? given ?? {};
    shown.textContent = head === undefined ? "" : t(most ? "compare.most" : "block.head", { layer: layer + 1, head: head + 1 });
  }

  const sides = texts.map((text, i) => {
    const place = el("div", { className: "side-lines" });
    const said = el("p", { className: "quiet", lang: subject.target });
    const input = el("textarea", {
      rows: 2, value: text, lang: subject.source, ariaLabel: t("compare.sentence", { n: i + 1 }), onchange: () => load(),
      onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); load(); } },
    });
    const side = { node: el("div", {}, input, said, place), found: null, draw: drawLines, load };
    let asked = 0;

    function drawLines({ layer, head }) {
      if (!side.found) { place.replaceChildren(); return; }
      const { shape, weights, names, token } = side.found;
      const [layers, heads, rows, columns] = shape;
      const one = headOf(weights, shape, Math.min(layer ?? layers - 1, layers - 1), Math.min(head ?? 0, heads - 1));
      const onchoose = (row) => { side.found.token = row; draw(); place.querySelectorAll("[role=button]")[row].focus(); };
      place.replaceChildren(lineView({ rows, columns, weights: one, rowLabels: names, columnLabels: names }, input.value, { chosen: token, onchoose }));
    }

    async function load() {
      const mine = asked += 1;
      let [found, words] = [null, ""];
      try {
        if (input.value.trim()) {
          const { source, target } = subject;
          const answer = await post("translate", { text: input.value, source, target, split_sentences: false, attention: { kind: "encoder", layers: "all", heads: "all", encoding: "base64" } });
          const [{ text: translated, segments: [{ attention, source_tokens: tokens }] }] = answer.translations;
          const pieces = tokens.map(({ piece }) => piece);
          found = { shape: attention.shape, weights: decodeHalf(attention.weights), names: pieces.map(label), token: firstToken(pieces) };
          words = translated;
        }
      } catch (error) {
        words = describe(error);
      }
      if (mine !== asked) return;
      side.found = found;
      said.textContent = words;
      draw();
    }

    return side;
  });
  const node = el("section", { className: "figure card", id: "figure-compare" }, el("h2", {}, t("compare.title")), el("p", {}, t("compare.text")), el("div", { className: "pair" }, sides.map((side) => side.node)), shown);
  for (const side of sides) side.load();
  return { node, draw };
}
