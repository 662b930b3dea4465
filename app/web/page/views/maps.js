/** All layers and heads as small maps, with their entropy and role. */

import { el } from "../frame/dom.js";
import { number, percent, t } from "../frame/strings.js";
import { entropy, roleOf } from "./head_role.js";
import { drawCells, ramp } from "./heatmap.js";

const WIDTH = 84;

/** The weights [rows × columns] of a layer and head from [layers × heads × rows × columns]. */
export function headOf(weights, [, heads, rows, columns], layer, head) {
  const size = rows * columns;
  const at = (layer * heads + head) * size;
  return weights.subarray(at, at + size);
}

/** A grid of buttons for {kind, shape, weights, pieces}; a click calls `onpick(layer, head)`. */
export function mapsGrid({ kind, shape, weights, pieces }, chosen, onpick) {
  const [layers, heads, rows, columns] = shape;
  const colours = ramp();
  const height = Math.max(18, Math.min(120, (WIDTH * rows) / columns));
  return el("div", { className: "maps" }, [...Array(layers).keys()].map((layer) => el("div", { className: "layer", role: "group", ariaLabel: `${t("attention.layer")} ${layer + 1}` },
    el("span", { className: "quiet" }, `${t("attention.layer")} ${layer + 1}`),
    [...Array(heads).keys()].map((head) => {
      const found = headOf(weights, shape, layer, head);
      const canvas = el("canvas", { ariaHidden: "true" });
      canvas.style.width = `${WIDTH}px`;
      canvas.style.height = `${height}px`;
      drawCells(canvas, { rows, columns, weights: found }, WIDTH, height, colours);
      const role = roleOf(kind, found, rows, columns, pieces);
      const bits = t("maps.bits", { bits: number(entropy(found, rows, columns), 1) });
      const does = t(`maps.${role.name}`) + (role.share === null ? "" : ` ${percent(role.share)}`);
      return el("button", { type: "button", data: { layer, head }, ariaPressed: String(chosen.layer === layer && chosen.head === head), title: t(`maps.${role.name}.why`), onclick: () => onpick(layer, head) },
        canvas, el("span", {}, `${t("attention.head")} ${head + 1}`), el("span", { className: "does" }, does), el("span", {}, bits));
    }))));
}
