/** Pieces of the vocabulary in readable form, and their places in a text. */

import { el } from "../frame/dom.js";
import { unitOffsets } from "../frame/offsets.js";

const BEGINS_WORD = "▁";

/** "▁Le" → "Le", "ment" → "·ment": a dot marks pieces that continue a word. */
export function label(piece) {
  if (piece.startsWith(BEGINS_WORD)) return piece.slice(1) || "␣";
  return /^[\p{L}\p{N}]/u.test(piece) ? `·${piece}` : piece;
}

/** The kinds of attention of a model of GET /info: a recurrent decoder has no self-attention. */
export const kindsOf = (model) => (model?.config?.autoregression === "ssru" ? ["cross", "encoder"] : ["cross", "encoder", "decoder"]);

/** Labels of the rows and columns of a kind of attention. */
export function axes(kind, segment) {
  const source = segment.source_tokens.map(({ piece }) => label(piece));
  const target = segment.target_tokens.map(({ piece }) => label(piece));
  if (kind === "encoder") return [source, source];
  if (kind === "decoder") return [target, ["<s>", ...target.slice(0, -1)]];
  return [target, source];
}

/** A text as elements, one for each token with a place in it; `nodes` has them by the token's index. */
export function tokenElements(text, tokens) {
  const units = unitOffsets(text);
  const nodes = [];
  const pieces = [];
  let at = 0;
  tokens.forEach(({ start, end }, index) => {
    const [first, to] = [units[start], units[end]];
    const from = first + /^\s*/.exec(text.slice(first, to))[0].length;
    if (to <= from || from < at) return;
    pieces.push(text.slice(at, from));
    nodes[index] = el("span", { className: "token" }, text.slice(from, to));
    pieces.push(nodes[index]);
    at = to;
  });
  pieces.push(text.slice(at));
  return { pieces, nodes };
}

/** The pieces of a text as a row of labels. */
export function tokenChips(tokens, lang) {
  return el("p", { className: "chips", lang }, tokens.map(({ piece }) => el("span", {}, label(piece))));
}
