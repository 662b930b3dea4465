/** Numbers around zero as colours: vectors as strips, tables as pictures. */

import { el } from "../frame/dom.js";

const STEPS = 128;

function parse(colour) {
  const brush = document.createElement("canvas").getContext("2d");
  brush.fillStyle = colour;
  brush.fillRect(0, 0, 1, 1);
  return [...brush.getImageData(0, 0, 1, 1).data];
}

/** [r, g, b] of −1 … 1: one colour below zero, the paper's at zero, another above. */
export function diverging() {
  const style = getComputedStyle(document.documentElement);
  const [below, zero, above] = ["--doubt", "--well", "--accent"].map((name) => parse(style.getPropertyValue(name).trim()));
  const table = Array.from({ length: 2 * STEPS + 1 }, (_, i) => {
    const x = (i - STEPS) / STEPS;
    const to = x < 0 ? below : above;
    return zero.map((from, c) => Math.round(from + (to[c] - from) * Math.abs(x) ** 0.8));
  });
  return (value) => table[Math.round(STEPS * (1 + Math.max(-1, Math.min(1, value))))];
}

/** Paint rows × columns of values into a canvas, a pixel each; the style makes them larger. */
export function paint(canvas, values, rows, columns, scale = 1) {
  const colour = diverging();
  canvas.width = columns;
  canvas.height = rows;
  const brush = canvas.getContext("2d");
  const picture = brush.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i += 1) {
    const [r, g, b] = colour(values[i] / scale);
    picture.data.set([r, g, b, 255], 4 * i);
  }
  brush.putImageData(picture, 0, 0);
}

/** A vector as a strip; full colour at ±scale. */
export function strip(vector, scale, label) {
  const canvas = el("canvas", { className: "strip", role: "img", ariaLabel: label, title: label });
  paint(canvas, vector, 1, vector.length, scale || 1);
  return canvas;
}
