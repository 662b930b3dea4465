/** Figure 1 of the paper as a loaded model has it; each block can be chosen. */

import { el, svg } from "../frame/dom.js";
import { number, t } from "../frame/strings.js";

const WIDTH = 440;
const BOX = 168;
const CENTRES = { encoder: 110, decoder: 330 };
const NORM = 25;
const PART = 44;
const GAP = 13;
const FLOOR = 640;

/** The parts of one layer from below: {block, kind, title, note}, and for each sub-layer where its residual begins and ends. */
export function sublayers(config, stack) {
  const isDecoder = stack === "decoder";
  const heads = (isDecoder && config.decoder_n_heads) || config.n_heads;
  const inner = (isDecoder && config.decoder_d_ff) || config.d_ff;
  const isPre = config.norm_order === "pre";
  const note = t("figure.heads", { h: heads, d: config.d_model / heads });
  const parts = [];
  const sublayer = (name, kind, title, ofPart) => {
    const block = `${stack}/${name}`;
    const part = { block, kind, title, note: ofPart };
    const norm = { block: `${block}/norm`, kind: "norm", title: t(isPre ? "figure.norm.only" : "figure.norm") };
    parts.push(...(isPre ? [{ ...norm, begins: true }, part, { block: `${block}/norm`, kind: "add", ends: true }] : [{ ...part, begins: true }, { ...norm, ends: true }]));
  };
  if (!isDecoder) sublayer("self_attention", "attention", t("figure.self"), note);
  else if (config.autoregression === "ssru") sublayer("ssru", "attention", t("figure.ssru"), t("figure.ssru.note"));
  else sublayer("self_attention", "attention", t("figure.masked"), note);
  if (isDecoder) sublayer("cross_attention", "attention", t("figure.cross"), note);
  sublayer("feed_forward", "ffn", t("figure.ffn"), `${number(config.d_model)} → ${number(inner)} → ${number(config.d_model)}, ${config.activation}`);
  return parts;
}

const line = (points, name = "line", tip = true) => svg("polyline", { points: points.map((point) => point.join()).join(" "), class: name, "marker-end": tip ? "url(#tip)" : null });
const words = (x, y, name, text) => svg("text", { x, y, class: name }, text);

/** The drawing for a model of GET /info; `lengths` {encoder, decoder} of the sentence, or null. `onopen(block)` is called for a chosen block. */
export function figure1({ config }, lengths = null, open = null, onopen = () => {}) {
  const isPre = config.norm_order === "pre";
  const shape = (stack, width = config.d_model) => (lengths ? `${number(lengths[stack])} × ${number(width)}` : "");

  function choosable(block, label, ...children) {
    const choose = () => onopen(block);
    return svg("g", { class: block === open ? "block open" : "block", role: "button", tabindex: 0, "data-block": block, "aria-label": label, "aria-pressed": String(block === open), onclick: choose,
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } } }, ...children);
  }

  function box(centre, top, height, { block, kind, title, note }) {
    const middle = top + height / 2;
    return choosable(block, null, svg("g", { class: kind },
      svg("rect", { x: centre - BOX / 2, y: top, width: BOX, height, rx: 8 }),
      words(centre, note ? middle - 4 : middle + 4.5, "", title),
      note ? [" ", words(centre, middle + 13, "note", note)] : []));
  }

  const plus = (centre, y) => [svg("circle", { cx: centre, cy: y, r: 9, class: "plus" }), svg("path", { d: `M${centre - 5} ${y}h10M${centre} ${y - 5}v10`, class: "sign" })];

  function drawStack(stack) {
    const isDecoder = stack === "decoder";
    const centre = CENTRES[stack];
    const side = isDecoder ? 1 : -1;
    const out = centre + side * (BOX / 2 + 9);
    const n = isDecoder ? config.n_decoder_layers : config.n_encoder_layers;
    const vocabulary = isDecoder ? config.target_vocab_size : config.source_vocab_size;
    const drawn = [words(centre, FLOOR + 24, "end", t(isDecoder ? "figure.output" : "figure.input"))];
    let y = FLOOR - PART;
    drawn.push(line([[centre, FLOOR + 8], [centre, FLOOR]]), box(centre, y, PART, { block: `${stack}/embedding`, kind: "embedding", title: t("figure.embedding"), note: `${number(vocabulary)} × ${number(config.d_model)}${config.scale_embedding ? `, × √${config.d_model}` : ""}` }));
    const sum = y - 26;
    drawn.push(line([[centre, y], [centre, sum + 10]], "line", false), line([[out, sum], [centre + side * 9, sum]], "line", false),
      choosable(`${stack}/position`, `${t("figure.positions")} PE(pos)`, ...plus(centre, sum), svg("circle", { cx: out, cy: sum, r: 9, class: "plus" }),
        svg("path", { d: `M${out - 6} ${sum}q3 -8 6 0t6 0`, class: "wave" }), words((out + centre) / 2, sum - 6, "formula-note", "PE(pos)")));
    y = sum - 54;
    drawn.push(line([[centre, sum - 9], [centre, y]]), words(centre - side * 8, sum - 20, isDecoder ? "note stop" : "note start", shape(stack)));
    const bottom = y + 20;
    const found = {};
    let begin = null;
    let below = y;
    for (const part of sublayers(config, stack)) {
      const height = part.kind === "add" ? 18 : part.kind === "norm" ? NORM : PART;
      const top = y - height;
      if (part.begins) begin = y + GAP - 6;
      drawn.push(line([[centre, below], [centre, y]], "line", below - y > 6));
      if (part.kind === "add") drawn.push(choosable(part.block, t("figure.add"), ...plus(centre, top + 9)));
      else drawn.push(box(centre, top, height, part));
      if (part.ends) {
        const into = part.kind === "add" ? [centre + side * 10, top + 9] : [centre + side * (BOX / 2), top + height / 2];
        drawn.push(line([[centre, begin], [out, begin], [out, into[1]], into], "line residual"));
      }
      if (part.block.endsWith("/cross_attention")) found.cross = top + height / 2;
      below = top;
      y = top - GAP;
    }
    const top = y + 1;
    drawn.unshift(svg("rect", { x: centre - BOX / 2 - 18, y: top, width: BOX + 36, height: bottom - top, rx: 14, class: "frame" }));
    let end = top;
    drawn.push(line([[centre, below], [centre, top]], "line", false));
    if (isPre) {
      end = top - 12 - NORM;
      drawn.push(line([[centre, top], [centre, top - 12]]), box(centre, end, NORM, { block: `${stack}/stack`, kind: "norm", title: t("figure.norm.final") }));
    }
    drawn.push(words(centre + side * (BOX / 2 + 16), bottom + 17, isDecoder ? "times stop" : "times start", `${n} ×`));
    return { drawn, top: end, ...found };
  }

  const encoder = drawStack("encoder");
  const decoder = drawStack("decoder");
  const middle = (CENTRES.encoder + CENTRES.decoder) / 2;
  const memory = encoder.top - 24;
  const linear = decoder.top - 28 - PART;
  const softmax = linear - 14 - NORM;
  const top = softmax - 40;
  return svg("svg", { viewBox: `0 ${top} ${WIDTH} ${FLOOR + 36 - top}`, class: "figure1", role: "group", "aria-label": t("figure.title") },
    svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 .500 7 4 0 7.5z", class: "tip" }))),
    line([[CENTRES.encoder, encoder.top], [CENTRES.encoder, memory], [middle, memory], [middle, decoder.cross], [CENTRES.decoder - BOX / 2 - 1, decoder.cross]]),
    words(CENTRES.encoder, memory - 7, "note", lengths ? `${t("figure.memory")}, ${shape("encoder")}` : t("figure.memory")),
    ...encoder.drawn, ...decoder.drawn,
    line([[CENTRES.decoder, decoder.top], [CENTRES.decoder, linear + PART]]),
    words(CENTRES.decoder + 8, linear + PART + 18, "note start", shape("decoder")),
    box(CENTRES.decoder, linear, PART, { block: "decoder/linear", kind: "linear", title: t("figure.linear"), note: `${number(config.d_model)} → ${number(config.target_vocab_size)}` }),
    line([[CENTRES.decoder, linear], [CENTRES.decoder, softmax + NORM]]),
    box(CENTRES.decoder, softmax, NORM, { block: "decoder/softmax", kind: "linear", title: "Softmax" }),
    line([[CENTRES.decoder, softmax], [CENTRES.decoder, softmax - 12]]),
    words(CENTRES.decoder, softmax - 18, "end", t("figure.next")));
}

/** The facts of GET /info about a model, as a list. */
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
