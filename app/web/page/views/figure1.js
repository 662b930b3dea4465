/** Figure 1 of the paper with the numbers of a loaded model. */

import { el, svg } from "../frame/dom.js";
import { number, t } from "../frame/strings.js";

const WIDTH = 640;
const BOX = 196;
const ENCODER = 180;
const DECODER = 460;
const NORM = 25;
const PART = 44;
const GAP = 9;
const FLOOR = 520;

function box(centre, top, height, kind, title, note) {
  const middle = top + height / 2;
  return svg("g", { class: `box ${kind}` },
    svg("rect", { x: centre - BOX / 2, y: top, width: BOX, height, rx: 8 }),
    svg("text", { x: centre, y: note ? middle - 4 : middle + 4.5 }, title),
    note ? svg("text", { x: centre, y: middle + 13, class: "note" }, note) : []);
}

const line = (points, marker) => svg("polyline", { points: points.map((point) => point.join()).join(" "), class: "line", "marker-end": marker ? "url(#tip)" : null });

/** The sublayers of one layer from below, as they follow one another. */
function sublayers(config, isDecoder) {
  const heads = (isDecoder && config.decoder_n_heads) || config.n_heads;
  const inner = (isDecoder && config.decoder_d_ff) || config.d_ff;
  const note = t("figure.heads", { h: heads, d: config.d_model / heads });
  const attention = (name) => ({ kind: "attention", title: t(name), note, name });
  const ssru = { kind: "attention", title: t("figure.ssru"), note: t("figure.ssru.note"), name: "figure.ssru" };
  const first = config.autoregression === "ssru" ? ssru : attention("figure.masked");
  const parts = isDecoder ? [first, attention("figure.cross")] : [attention("figure.self")];
  parts.push({ kind: "ffn", title: t("figure.ffn"), note: `${number(config.d_model)} → ${number(inner)} → ${number(config.d_model)}, ${config.activation}` });
  const norm = { kind: "norm", title: t(config.norm_order === "pre" ? "figure.prenorm" : "figure.norm") };
  return parts.flatMap((part) => (config.norm_order === "pre" ? [norm, part] : [part, norm]));
}

function stack(centre, config, isDecoder) {
  const n = isDecoder ? config.n_decoder_layers : config.n_encoder_layers;
  const vocabulary = isDecoder ? config.target_vocab_size : config.source_vocab_size;
  const parts = [];
  const places = {};
  let y = FLOOR;
  parts.push(svg("text", { x: centre, y: y + 24, class: "end" }, t(isDecoder ? "figure.output" : "figure.input")));
  y -= PART;
  parts.push(line([[centre, y + PART + 10], [centre, y + PART]], true), box(centre, y, PART, "embedding", t("figure.embedding"), `${number(vocabulary)} × ${number(config.d_model)}`));
  const plus = y - 26;
  const side = isDecoder ? 1 : -1;
  parts.push(line([[centre, y], [centre, plus + 11]], false), svg("circle", { cx: centre, cy: plus, r: 10, class: "plus" }), svg("text", { x: centre, y: plus + 5.5, class: "sign" }, "+"),
    svg("text", { x: centre + side * 22, y: plus + 4, class: isDecoder ? "note start" : "note stop" }, t("figure.positions")));
  y = plus - 34;
  const bottom = y + 12;
  parts.push(line([[centre, plus - 10], [centre, y]], true));
  const boxes = [];
  for (const part of sublayers(config, isDecoder)) {
    const height = part.kind === "norm" ? NORM : PART;
    y -= height;
    boxes.push(box(centre, y, height, part.kind, part.title, part.note));
    if (part.name === "figure.cross") places.cross = y + height / 2;
    y -= GAP;
  }
  const top = y - 3;
  const frame = svg("rect", { x: centre - BOX / 2 - 16, y: top, width: BOX + 32, height: bottom - top, rx: 14, class: "frame" });
  parts.push(frame, ...boxes,
    svg("text", { x: centre + side * (BOX / 2 + 26), y: (top + bottom) / 2 + 6, class: isDecoder ? "times start" : "times stop" }, `${n} ×`),
    svg("text", { x: centre + side * (BOX / 2 + 26), y: (top + bottom) / 2 + 24, class: isDecoder ? "note start" : "note stop" }, t(isDecoder ? "figure.decoder" : "figure.encoder")));
  return { parts, top, ...places };
}

/** The drawing for a model of GET /info. */
export function figure1({ config }) {
  const encoder = stack(ENCODER, config, false);
  const decoder = stack(DECODER, config, true);
  const middle = (ENCODER + DECODER) / 2;
  const linear = decoder.top - 64;
  const height = FLOOR + 36;
  const drawing = svg("svg", { viewBox: `0 ${linear - 34} ${WIDTH} ${height - linear + 34}`, class: "figure1", role: "img", "aria-label": t("figure.title") },
    svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 .500 7 4 0 7.500z", class: "tip" }))),
    ...encoder.parts, ...decoder.parts,
    line([[ENCODER, encoder.top], [ENCODER, encoder.top - 22], [middle, encoder.top - 22], [middle, decoder.cross], [DECODER - BOX / 2 - 1, decoder.cross]], true),
    line([[DECODER, decoder.top], [DECODER, linear + PART]], true),
    box(DECODER, linear, PART, "linear", t("figure.linear"), `${number(config.d_model)} → ${number(config.target_vocab_size)}`),
    line([[DECODER, linear], [DECODER, linear - 12]], true),
    svg("text", { x: DECODER, y: linear - 18, class: "end" }, t("figure.next")));
  return drawing;
}

/** What /info says of a model, as a list. */
export function facts(model) {
  const { config } = model;
  const heads = config.decoder_n_heads && config.decoder_n_heads !== config.n_heads ? `${config.n_heads} + ${config.decoder_n_heads}` : config.n_heads;
  const inner = config.decoder_d_ff && config.decoder_d_ff !== config.d_ff ? `${number(config.d_ff)} + ${number(config.decoder_d_ff)}` : number(config.d_ff);
  const rows = [
    ["N", `${config.n_encoder_layers} + ${config.n_decoder_layers}`], ["d_model", number(config.d_model)], ["d_ff", inner], ["h", heads],
    ["d_k = d_v", number(config.d_model / config.n_heads)], ["max_length", number(config.max_length)], ["parameters", number(model.parameters)],
    ["device", model.device], ["precision", model.precision], ["digest", model.digest?.slice(0, 12) ?? "–"], // known once it is loaded
  ];
  return el("dl", { className: "facts" }, rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]));
}
