/** Explains control symbols, spaces and bytes beside the tokens, and the colours of weights. */

import { el } from "../frame/dom.js";
import { languageName, t } from "../frame/strings.js";
import { ramp } from "./heatmap.js";

const TARGETS = [/^<2(\w+)>$/, /^>>(\w+)<<$/, /^__(\w+)__$/, /^([a-z]{3})_[A-Z][a-z]{3}$/];

/** The target language that a piece names, or null. */
export function targetOf(piece) {
  for (const form of TARGETS) {
    const found = form.exec(piece);
    if (found) return found[1];
  }
  return null;
}

/** The special pieces of a sentence as [label, explanation], each once. */
export function specialsOf(pieces) {
  const found = [];
  const target = pieces.find((piece) => targetOf(piece));
  if (target) found.push([target, t("special.target", { language: languageName(targetOf(target)) })]);
  if (pieces.includes("</s>")) found.push(["</s>", t("special.end")]);
  if (pieces.some((piece) => !piece.startsWith("▁") && /^[\p{L}\p{N}]/u.test(piece) && !targetOf(piece))) found.push(["·", t("special.inner")]);
  if (pieces.includes("▁")) found.push(["␣", t("special.blank")]);
  if (pieces.some((piece) => /^<0x[0-9A-F]{2}>$/.test(piece))) found.push(["<0x…>", t("special.byte")]);
  return found;
}

/** The special pieces as a list. */
export function specialsList(pieces) {
  return el("dl", { className: "specials" }, specialsOf(pieces).map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text))));
}

/** A legend of the colours of weights from 0 to 1. */
export function colourLegend() {
  const canvas = el("canvas", { width: 256, height: 1, ariaHidden: "true" });
  const brush = canvas.getContext("2d");
  ramp().forEach((colour, i) => { brush.fillStyle = colour; brush.fillRect(i, 0, 1, 1); });
  return el("p", { className: "scale quiet" }, t("legend.weight"), el("span", {}, "0"), canvas, el("span", {}, "1"));
}
