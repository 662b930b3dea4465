/** §3.5: the positional encoding, and the similarity of two positions. */

import { announce, el, svg } from "../frame/dom.js";
import { number, t } from "../frame/strings.js";
import { paint } from "./vectors.js";
import { dotProduct } from "./word_order.js";

const WIDTH = 560;
const HEIGHT = 150;

/** The cosine of a row with every row of a table [rows × columns]. */
export function cosines(table, rows, columns, row) {
  const norm = (r) => Math.hypot(...table.subarray(r * columns, (r + 1) * columns));
  const norms = Array.from({ length: rows }, (_, r) => norm(r) || 1);
  return norms.map((size, r) => {
    let product = 0;
    for (let c = 0; c < columns; c += 1) product += table[row * columns + c] * table[r * columns + c];
    return product / (size * norms[row]);
  });
}

/** The period of a column in positions, measured at its zero crossings; null if it has none. */
export function period(table, rows, columns, column) {
  const crossings = [];
  for (let r = 1; r < rows; r += 1) {
    const [a, b] = [table[(r - 1) * columns + column], table[r * columns + column]];
    if (a < 0 && b >= 0) crossings.push(r - 1 + a / (a - b));
  }
  return crossings.length < 2 ? null : (crossings[crossings.length - 1] - crossings[0]) / (crossings.length - 1);
}

function curve(values, position) {
  const [lowest, highest] = [Math.min(0, ...values), 1];
  const x = (i) => 34 + (i / (values.length - 1)) * (WIDTH - 44);
  const y = (v) => 10 + ((highest - v) / (highest - lowest)) * (HEIGHT - 36);
  const tick = (v) => [svg("line", { x1: 34, x2: WIDTH - 10, y1: y(v), y2: y(v), class: "grid" }), svg("text", { x: 28, y: y(v) + 4, class: "tick stop" }, String(v))];
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curve", role: "img", "aria-label": t("positions.common", { position }) },
    ...tick(0), ...tick(0.5), ...tick(1),
    svg("line", { x1: x(position), x2: x(position), y1: 6, y2: HEIGHT - 24, class: "here" }),
    svg("polyline", { points: values.map((v, i) => `${x(i)},${y(v)}`).join(" "), class: "wave" }),
    ...[0, 32, 64, 96, 127].filter((i) => i < values.length).map((i) => svg("text", { x: x(i), y: HEIGHT - 6, class: "tick" }, String(i))));
}

/** The figure for a table of `rows` positions. */
export function positionsFigure(table, [rows, columns]) {
  const canvas = el("canvas", { className: "positions", tabIndex: 0, role: "application", ariaLabel: t("positions.table") });
  const readout = el("p", { className: "readout" });
  const common = el("div", {});
  const product = el("p", { className: "readout product" });
  const caption = el("h3", {});
  let cell = [Math.min(20, rows - 1), 0];
  const draw = () => paint(canvas, table, rows, columns);
  const choose = (position) => {
    const chosen = Number(position);
    slider.value = chosen;
    caption.textContent = t("positions.common", { position: chosen });
    common.replaceChildren(curve(cosines(table, rows, columns, chosen), chosen));
    multiply();
  };
  /** The dot products of the two positions, and of two others as far apart. */
  const multiply = () => {
    const [p, q] = [Number(slider.value), Number(other.value)];
    const by = Math.max(p, q) + 8 < rows ? 8 : -Math.min(p, q);
    const values = { p, q, value: number(dotProduct(table, columns, p, q), 2), r: p + by, s: q + by, moved: number(dotProduct(table, columns, p + by, q + by), 2), distance: Math.abs(p - q) };
    product.textContent = t("positions.product", values);
  };
  const slider = el("input", { type: "range", min: 0, max: rows - 1, ariaLabel: t("positions.axis"), oninput: (event) => choose(event.target.value) });
  const other = el("input", { type: "range", min: 0, max: rows - 1, value: Math.min(rows - 1, 24), id: "other-position", oninput: () => multiply() });
  const show = ([position, dimension]) => {
    cell = [position, dimension];
    const turns = period(table, rows, columns, dimension);
    const wave = turns ? ` · ${t("positions.wave", { period: number(turns, 1) })}` : "";
    readout.textContent = t("positions.value", { position, dimension, value: number(table[position * columns + dimension], 3) }) + wave;
  };
  canvas.addEventListener("pointermove", (event) => {
    const frame = canvas.getBoundingClientRect();
    const within = (part, n) => Math.max(0, Math.min(n - 1, Math.floor(part * n)));
    show([within((event.clientY - frame.top) / frame.height, rows), within((event.clientX - frame.left) / frame.width, columns)]);
  });
  canvas.addEventListener("click", () => choose(cell[0]));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Enter") choose(cell[0]);
    if (!step) return;
    event.preventDefault();
    show([Math.max(0, Math.min(rows - 1, cell[0] + step[0])), Math.max(0, Math.min(columns - 1, cell[1] + step[1]))]);
    announce(readout.textContent);
  });
  draw();
  show(cell);
  choose(cell[0]);
  const figure = el("div", { className: "columns" },
    el("div", {}, el("div", { className: "axes" }, el("span", { className: "down" }, `${t("positions.axis")} →`), canvas, el("span", { className: "across" }, `${t("positions.dimension")} →`)), readout),
    el("div", {}, caption, common, slider, el("label", { className: "quiet", htmlFor: "other-position" }, t("positions.other")), other, product));
  return { figure, draw };
}
