/** A matrix as cells on a canvas: pointer, arrow keys, values; fast at 100 × 100. */

import { announce, el, svg } from "../frame/dom.js";

const SMALLEST = 11;
const LARGEST = 38;
const SHADES = 256;
const DEGREES = -52;

/** A ramp of `SHADES` colours through the theme's three. Small weights stay visible. */
export function ramp() {
  const style = getComputedStyle(document.documentElement);
  const stops = [0, 1, 2].map((i) => style.getPropertyValue(`--heat-${i}`).trim().split(/\s+/).map(Number));
  return Array.from({ length: SHADES }, (_, i) => {
    const x = 2 * Math.sqrt(i / (SHADES - 1));
    const [from, to, part] = x < 1 ? [stops[0], stops[1], x] : [stops[1], stops[2], x - 1];
    return `rgb(${from.map((value, c) => Math.round(value + (to[c] - value) * part)).join(" ")})`;
  });
}

const shade = (colours, weight) => colours[Math.max(0, Math.min(SHADES - 1, Math.round(weight * (SHADES - 1))))];

/** A small map without labels. */
export function drawCells(canvas, { rows, columns, weights }, width, height, colours = ramp()) {
  const scale = devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const brush = canvas.getContext("2d");
  for (let row = 0; row < rows; row += 1) {
    const top = Math.floor((row * canvas.height) / rows);
    const bottom = Math.floor(((row + 1) * canvas.height) / rows);
    for (let column = 0; column < columns; column += 1) {
      const left = Math.floor((column * canvas.width) / columns);
      brush.fillStyle = shade(colours, weights[row * columns + column]);
      brush.fillRect(left, top, Math.floor(((column + 1) * canvas.width) / columns) - left, bottom - top);
    }
  }
}

export class HeatMap {
  /** `onpick(row, column)` for the cell at the pointer or cursor, with nulls when there is none. */
  constructor(label, describe, onpick) {
    this.describe = describe;
    this.onpick = onpick;
    this.matrix = null;
    this.cell = null;
    this.canvas = el("canvas", { className: "heat", tabIndex: 0, role: "application", ariaLabel: label });
    this.canvas.addEventListener("pointermove", (event) => this.#pick(this.#cellAt(event)));
    this.canvas.addEventListener("pointerdown", (event) => this.#pick(this.#cellAt(event)));
    this.canvas.addEventListener("pointerleave", () => this.#pick(null));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.canvas.addEventListener("blur", () => this.#pick(null));
  }

  /** matrix: {rows, columns: their number, weights, rowLabels, columnLabels}. */
  show(matrix, width) {
    this.matrix = matrix;
    this.canvas.dataset.rows = matrix.rows;
    this.canvas.dataset.columns = matrix.columns;
    this.width = width;
    if (this.cell && (this.cell[0] >= matrix.rows || this.cell[1] >= matrix.columns)) this.cell = null;
    this.draw();
  }

  /** Draw again, in the present colours. */
  draw() {
    if (!this.matrix) return;
    const { rows, columns, rowLabels, columnLabels } = this.matrix;
    const brush = this.canvas.getContext("2d");
    this.style = getComputedStyle(document.documentElement);
    const font = this.style.getPropertyValue("--sans");
    brush.font = `13px ${font}`;
    const widest = (labels) => Math.max(...labels.map((text) => brush.measureText(text).width));
    const left = Math.ceil(widest(rowLabels)) + 16;
    const slant = Math.sin((-DEGREES * Math.PI) / 180);
    const top = Math.ceil(widest(columnLabels) * slant) + 20;
    const overhang = Math.ceil(widest(columnLabels.slice(-3)) * Math.cos((-DEGREES * Math.PI) / 180)) + 8;
    const size = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((this.width - left - overhang) / columns)));
    this.frame = { left, top, size };
    const scale = devicePixelRatio;
    const [width, height] = [left + columns * size + overhang, top + rows * size + 4];
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    brush.setTransform(scale, 0, 0, scale, 0, 0);
    const colours = ramp();
    const gap = size >= 16 ? 1 : 0;
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        brush.fillStyle = shade(colours, this.matrix.weights[row * columns + column]);
        brush.fillRect(left + column * size, top + row * size, size - gap, size - gap);
      }
    }
    this.base = el("canvas", { width: this.canvas.width, height: this.canvas.height });
    this.base.getContext("2d").drawImage(this.canvas, 0, 0);
    this.#overlay();
  }

  #overlay() {
    const { rows, columns, rowLabels, columnLabels } = this.matrix;
    const { left, top, size } = this.frame;
    const brush = this.canvas.getContext("2d");
    const colour = (name) => this.style.getPropertyValue(name);
    const font = (is) => `${is ? "600 " : ""}${size < 14 ? 10 : 13}px ${colour("--sans")}`;
    brush.setTransform(1, 0, 0, 1, 0, 0);
    brush.clearRect(0, 0, this.canvas.width, this.canvas.height);
    brush.drawImage(this.base, 0, 0);
    brush.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    const [row, column] = this.cell ?? [-1, -1];
    brush.textBaseline = "middle";
    brush.textAlign = "right";
    for (let r = 0; r < rows; r += 1) {
      brush.font = font(r === row);
      brush.fillStyle = colour(r === row ? "--accent" : "--ink");
      brush.fillText(rowLabels[r], left - 8, top + (r + 0.5) * size);
    }
    brush.textAlign = "left";
    for (let c = 0; c < columns; c += 1) {
      brush.save();
      brush.translate(left + (c + 0.5) * size, top - 7);
      brush.rotate((DEGREES * Math.PI) / 180);
      brush.font = font(c === column);
      brush.fillStyle = colour(c === column ? "--accent" : "--ink");
      brush.fillText(columnLabels[c], 0, 0);
      brush.restore();
    }
    if (row < 0) return;
    brush.strokeStyle = colour("--ink");
    brush.lineWidth = 2;
    brush.strokeRect(left + column * size - 1, top + row * size - 1, size + 1, size + 1);
  }

  #cellAt(event) {
    if (!this.frame) return null;
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - this.frame.left) / this.frame.size);
    const row = Math.floor((event.clientY - box.top - this.frame.top) / this.frame.size);
    const { rows, columns } = this.matrix;
    return row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null;
  }

  #pick(cell) {
    if (String(cell) === String(this.cell)) return;
    this.cell = cell;
    if (this.matrix) this.#overlay();
    this.onpick(...(cell ?? [null, null]));
  }

  #key(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step || !this.matrix) return;
    event.preventDefault();
    const { rows, columns } = this.matrix;
    const [row, column] = this.cell ?? [0, 0];
    const moved = this.cell ? [row + step[0], column + step[1]] : [0, 0];
    this.#pick([Math.max(0, Math.min(rows - 1, moved[0])), Math.max(0, Math.min(columns - 1, moved[1]))]);
    announce(this.describe(...this.cell));
  }

  /** The map as an SVG document, in the present colours. */
  toSvg() {
    const { rows, columns, weights, rowLabels, columnLabels } = this.matrix;
    const { left, top, size } = this.frame;
    const colours = ramp();
    const [width, height] = [parseFloat(this.canvas.style.width), parseFloat(this.canvas.style.height)];
    const ink = this.style.getPropertyValue("--ink");
    const cells = [];
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        const weight = weights[row * columns + column];
        cells.push(svg("rect", { x: left + column * size, y: top + row * size, width: size - 1, height: size - 1, fill: shade(colours, weight) },
          svg("title", {}, this.describe(row, column))));
      }
    }
    const text = (content, x, y, more) => svg("text", { x, y, fill: ink, "font-size": 13, "font-family": "sans-serif", ...more }, content);
    const document_ = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height },
      svg("rect", { width, height, fill: this.style.getPropertyValue("--card") }), ...cells,
      ...rowLabels.map((label, r) => text(label, left - 8, top + (r + 0.5) * size + 4, { "text-anchor": "end" })),
      ...columnLabels.map((label, c) => {
        const [x, y] = [left + (c + 0.5) * size, top - 7];
        return text(label, x, y, { transform: `rotate(${DEGREES} ${x} ${y})` });
      }));
    return new XMLSerializer().serializeToString(document_);
  }
}
