/** Formulas as elements: "x W^Q + b_1" has a superscript and a subscript; braces hold several characters. */

import { el } from "../frame/dom.js";

/** Pieces of a formula: [kind, text] with kind "", "^" or "_". */
export function piecesOf(formula) {
  return [...formula.matchAll(/([\^_])(?:\{([^}]*)\}|(\S))|([^\^_]+)/g)].map(([, kind = "", group, single, plain]) => [kind, group ?? single ?? plain]);
}

/** The element of a formula. */
export function formula(text) {
  return el("span", { className: "formula" }, piecesOf(text).map(([kind, part]) => (kind === "^" ? el("sup", {}, part) : kind === "_" ? el("sub", {}, part) : part)));
}
