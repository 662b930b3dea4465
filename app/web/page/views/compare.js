/** Two sentences side by side: what one token of each looks at within its sentence. */

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

/** The token to begin with: the pronoun of the example, else the last but one. */
export function firstToken(pieces) {
  const at = pieces.lastIndexOf(WORD);
  return at < 0 ? Math.max(0, pieces.length - 2) : at;
}

/** A section for the languages of a subject. `headAt()` says {layer, head} of the encoder to show. */
export function compareSection(subject, headAt) {
  const texts = subject.source === "en" ? PAIR : [subject.text, ""];
  const sides = texts.map((text, i) => {
    const place = el("div", { className: "side-lines" });
    const said = el("p", { className: "quiet", lang: subject.target });
    const input = el("input", { type: "text", value: text, lang: subject.source, ariaLabel: t("compare.sentence", { n: i + 1 }), onchange: () => load() });
    let asked = 0;
    let found = null;
    let token = null;

    function draw() {
      if (!found) return;
      const { layer, head } = headAt();
      const { shape, weights, pieces } = found;
      const [layers, heads, rows, columns] = shape;
      const names = pieces.map(label);
      const one = headOf(weights, shape, Math.min(layer ?? layers - 1, layers - 1), Math.min(head ?? 0, heads - 1));
      place.replaceChildren(lineView({ rows, columns, weights: one, rowLabels: names, columnLabels: names }, input.value, { chosen: token, onchoose: (row) => { token = row; draw(); place.querySelectorAll("[role=button]")[row].focus(); } }));
    }

    async function load() {
      const mine = asked += 1;
      if (!input.value.trim()) { found = null; place.replaceChildren(); said.textContent = ""; return; }
      try {
        const { source, target } = subject;
        const answer = await post("translate", { text: input.value, source, target, split_sentences: false, attention: { kind: "encoder", layers: "all", heads: "all", encoding: "base64" } });
        if (mine !== asked) return;
        const [translation] = answer.translations;
        const [segment] = translation.segments;
        found = { shape: segment.attention.shape, weights: decodeHalf(segment.attention.weights), pieces: segment.source_tokens.map(({ piece }) => piece) };
        token = firstToken(found.pieces);
        said.textContent = translation.text;
        draw();
      } catch (error) {
        if (mine === asked) said.textContent = describe(error);
      }
    }

    return { node: el("div", {}, input, said, place), draw, load };
  });
  const node = el("section", { className: "figure card", id: "figure-compare" }, el("h2", {}, t("compare.title")), el("p", {}, t("compare.text")), el("div", { className: "pair" }, sides.map((side) => side.node)));
  for (const side of sides) side.load();
  return { node, draw: () => { for (const side of sides) side.draw(); } };
}
