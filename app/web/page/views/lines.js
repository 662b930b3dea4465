/** Attention as lines between two columns of tokens; wider lines have more weight. */

import { svg } from "../frame/dom.js";

const ROW = 25;
const WIDTH = 420;
const [LEFT, RIGHT] = [140, 280];
const FAINTEST = 0.02;

/** The lines to draw: [row, column, weight] of one row, or of all if it is null. */
export function linesOf({ rows, columns, weights }, only = null) {
  const found = [];
  for (let row = 0; row < rows; row += 1) {
    if (only !== null && row !== only) continue;
    for (let column = 0; column < columns; column += 1) {
      const weight = weights[row * columns + column];
      if (weight >= FAINTEST) found.push([row, column, weight]);
    }
  }
  return found;
}

/** A drawing of {rows, columns, weights, rowLabels, columnLabels}. `onpick(row)` with null when a row is left; `chosen` is a row that stays lit. */
export function lineView(matrix, title, { chosen = null, onpick = () => {}, onchoose = () => {} } = {}) {
  const { rows, columns, rowLabels, columnLabels } = matrix;
  const y = (i) => ROW * (i + 0.5) + 4;
  const curves = svg("g", {});
  const rowNodes = [];
  const columnNodes = columnLabels.map((text, i) => svg("text", { x: RIGHT + 8, y: y(i) + 4.5, class: "start" }, text));
  const light = (row) => {
    const drawn = linesOf(matrix, row);
    curves.replaceChildren(...drawn.map(([r, c, weight]) => svg("path", { d: `M${LEFT} ${y(r)}C${(LEFT + RIGHT) / 2} ${y(r)} ${(LEFT + RIGHT) / 2} ${y(c)} ${RIGHT} ${y(c)}`, "stroke-width": (0.6 + 5 * weight).toFixed(2), "stroke-opacity": (row === null ? 0.15 + 0.6 * weight : 0.25 + 0.75 * weight).toFixed(3) })));
    rowNodes.forEach((node, i) => node.classList.toggle("lit", i === row));
    const strongest = row === null ? -1 : drawn.reduce((best, one) => (one[2] > best[2] ? one : best), [0, -1, 0])[1];
    columnNodes.forEach((node, i) => node.classList.toggle("lit", i === strongest));
  };
  const leave = () => { light(chosen); onpick(chosen); };
  const enter = (row) => { light(row); onpick(row); };
  rowNodes.push(...rowLabels.map((text, i) => svg("g", { role: "button", tabindex: 0, "aria-label": text, "aria-pressed": String(i === chosen), onpointerenter: () => enter(i), onfocus: () => enter(i), onpointerleave: leave, onblur: leave,
    onclick: () => onchoose(i), onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onchoose(i); } } },
  svg("rect", { x: 0, y: y(i) - ROW / 2, width: LEFT, height: ROW, class: "hit" }), svg("text", { x: LEFT - 8, y: y(i) + 4.5, class: "stop" }, text))));
  light(chosen);
  const height = ROW * Math.max(rows, columns) + 8;
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "lines", role: "group", "aria-label": title }, curves, ...rowNodes, ...columnNodes);
}
