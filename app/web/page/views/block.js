/** A block of figure 1, opened: its equation, and the numbers of one token of this sentence. */

import { el, picker } from "../frame/dom.js";
import { number, percent, t } from "../frame/strings.js";
import { formula } from "./formula.js";
import { label } from "./tokens.js";
import { strip } from "./vectors.js";

const SHOWN = 4;
const ATTENTION = ["Attention(Q, K, V) = softmax(Q K^T / √d_k) V", "MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O"];
const ACTIVATIONS = { relu: "max(0, x W_1 + b_1)", gelu: "GELU(x W_1 + b_1)", swish: "swish(x W_1 + b_1)", quick_gelu: "GELU(x W_1 + b_1)" };

/** "decoder/cross_attention/norm" → {stack, sublayer, isNorm}. */
export function partsOf(block) {
  const [stack, sublayer, more] = block.split("/");
  return { stack, sublayer, isNorm: more === "norm" || sublayer === "stack" };
}

/** The kind of attention whose row belongs to a block, for a model of GET /info. */
export function kindOf(block) {
  const { stack, sublayer } = partsOf(block);
  if (stack === "encoder") return "encoder";
  return sublayer === "self_attention" ? "decoder" : "cross";
}

/** The equations of §3.5 in the model's order of dimensions. */
export function sinusoids({ position_layout: layout, position_offset: first }) {
  const angle = `(pos${first ? ` + ${first}` : ""}) / 10000^{2i/${layout === "marian" ? "(d−2)" : "d"}}`.replace("(pos)", "pos");
  const [sine, cosine] = layout === "interleaved" ? ["2i", "2i+1"] : ["i", "d/2+i"];
  return [`PE(pos, ${sine}) = sin(${angle})`, `PE(pos, ${cosine}) = cos(${angle})`];
}

/** Title, equations and section of a block. */
export function factsOf(block, config) {
  const { stack, sublayer, isNorm } = partsOf(block);
  const isPre = config.norm_order === "pre";
  if (isNorm) {
    const equations = sublayer === "stack" ? ["LayerNorm(x) = g (x − μ) / √(σ^2 + ε) + b"]
      : [isPre ? "x + Sublayer(LayerNorm(x))" : "LayerNorm(x + Sublayer(x))"];
    return { title: t(sublayer === "stack" ? "figure.norm.final" : "figure.norm"), text: t(sublayer === "stack" ? "block.norm.final" : isPre ? "block.norm.pre" : "block.norm.post"), equations, section: "§3.1, §5.4" };
  }
  const known = {
    embedding: ["figure.embedding", "block.embedding", [config.scale_embedding ? "x = E[token] · √d_{model}" : "x = E[token]"], "§3.4"],
    position: ["figure.positions", "block.position", sinusoids(config), "§3.5"],
    self_attention: [stack === "encoder" ? "figure.self" : "figure.masked", stack === "encoder" ? "block.self" : "block.masked", ATTENTION, "§3.2"],
    cross_attention: ["figure.cross", "block.cross", ATTENTION, "§3.2.3"],
    ssru: ["figure.ssru", "block.ssru", ["f_t = σ(W_f x_t + b_f)", "c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ W x_t", "max(0, c_t)"], "Kim et al. 2019, §3.2"],
    feed_forward: ["figure.ffn", "block.ffn", [`FFN(x) = ${ACTIVATIONS[config.activation]} W_2 + b_2`], "§3.3"],
    linear: ["figure.linear", "block.linear", [`x ${config.tie_output ? "E^T" : "W"}${config.output_bias ? " + b" : ""}`], "§3.4"],
    softmax: ["Softmax", "block.softmax", ["p_i = exp(z_i) / Σ_j exp(z_j)"], "§3.4"],
  }[sublayer];
  const [title, text, equations, section] = known;
  return { title: t(title), text: t(text), equations, section };
}

/** The rows of a block: [formula, sub-layer, name, width of the matrix it is a row of]. */
export function rowsOf(block, config) {
  const { stack, sublayer, isNorm } = partsOf(block);
  const isDecoder = stack === "decoder";
  const isPre = config.norm_order === "pre";
  const d = config.d_model;
  const inner = (isDecoder && config.decoder_d_ff) || config.d_ff;
  const normed = isPre ? [["LayerNorm(x)", sublayer, "norm", d]] : [];
  if (sublayer === "stack") return [["LayerNorm(x)", "stack", "norm", d]];
  const added = [["Sublayer(…)", sublayer, "output", d], ["x + Sublayer(…)", sublayer, "residual", d]];
  if (isNorm) return isPre ? [...normed, ...added] : [...added, ["LayerNorm(…)", sublayer, "norm", d]];
  switch (sublayer) {
    case "embedding": return [["E[token]", "embedding", "token", d]];
    case "position": return [["E[token]", "embedding", "token", d], ["PE(pos)", "embedding", "position", d], [config.scale_embedding ? "E[token] · √d_{model} + PE(pos)" : "E[token] + PE(pos)", "embedding", "sum", d]];
    case "self_attention": return [...normed, ["q = x W^Q", sublayer, "query", d], ["k = x W^K", sublayer, "key", d], ["v = x W^V", sublayer, "value", d], "attention", ["Concat(head_1, …, head_h)", sublayer, "context", d], ["Concat(…) W^O", sublayer, "output", d]];
    case "cross_attention": return [...normed, ["q = x W^Q", sublayer, "query", d], "attention", ["Concat(head_1, …, head_h)", sublayer, "context", d], ["Concat(…) W^O", sublayer, "output", d]];
    case "ssru": return [...normed, ["W x_t", sublayer, "candidate", d], ["f_t", sublayer, "forget", d], ["c_t", sublayer, "cell", d], ["max(0, c_t)", sublayer, "output", d]];
    case "feed_forward": return [...normed, [ACTIVATIONS[config.activation], sublayer, "hidden", inner], ["… W_2 + b_2", sublayer, "output", d]];
    default: return ["logits"];
  }
}

function vectorRow([name, sublayer, part, width], shown, length) {
  const found = shown.vectors.find((one) => one.sublayer === sublayer && one.name === part);
  if (!found) return null;
  const { vector } = found;
  const size = Math.hypot(...vector);
  return el("tr", { data: { vector: `${sublayer}.${part}` } },
    el("th", { scope: "row" }, formula(name)),
    el("td", { className: "shape" }, `${number(length)} × ${number(width)}`),
    el("td", {}, strip(vector, Math.max(...vector.map(Math.abs)), t("block.strip", { n: vector.length }))),
    el("td", { className: "values" }, `${vector.slice(0, SHOWN).map((x) => number(x, 3)).join("  ")} …`),
    el("td", { className: "n" }, number(size, 2)));
}

const bar = (share) => {
  const mark = el("span", { className: "bar-mark" });
  mark.style.width = `${100 * share}%`;
  return el("span", { className: "bar-frame" }, mark);
};

const table = (heads, rows, name = "") => el("div", { className: "scroller", tabIndex: 0, role: "region", ariaLabel: `${heads[0]}: ${rows[0].querySelector("th").textContent}` },
  el("table", { className: `numbers ${name}` }, el("thead", {}, el("tr", {}, heads.map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, rows)));

const vectorTable = (rows) => table([t("block.step"), t("block.shape"), t("block.vector"), t("block.first"), t("block.length")], rows, "vectors");

/** q·k, ÷ √d_k, mask and softmax of the chosen head: equation 1 for one row. */
function attentionTable({ columns, d_k: width, head, layer }) {
  const heads = [t("block.head", { head: head + 1, layer: layer + 1 }), "q·k", `÷ √${width}`, t("step.mask"), "softmax"];
  return table(heads, columns.map(({ piece, product, scaled, seen, weight }) => el("tr", { className: seen ? "" : "unseen", data: { weight } },
    el("th", { scope: "row" }, label(piece)), el("td", { className: "n" }, number(product, 2)), el("td", { className: "n" }, number(scaled, 2)),
    el("td", { className: "n" }, seen ? "0" : "−∞"), el("td", { className: "n" }, number(weight, 4), bar(weight)))), "products-short");
}

function logitTable({ logits, log_sum_exp: total }) {
  return [table([t("block.next"), t("block.logit"), `− log Σ exp(z) = ${number(total, 3)}`, "softmax"], logits.map(({ piece, logit, probability }) => el("tr", { data: { logit } },
    el("th", { scope: "row" }, label(piece)), el("td", { className: "n" }, number(logit, 3)), el("td", { className: "n" }, number(logit - total, 3)),
    el("td", { className: "n" }, percent(probability, 2), bar(probability)))), "products-short"), el("p", { className: "quiet" }, t("block.vocabulary"))];
}

/** The panel of a block for an answer of POST /explain; `choose(changes)` selects another layer, head or token. */
export function blockPanel(block, config, answer, choose) {
  const { title, text, equations, section } = factsOf(block, config);
  const { stack, sublayer } = partsOf(block);
  const { activations: shown, attention, segment } = answer;
  const inEncoder = stack === "encoder";
  const length = segment[inEncoder ? "source_tokens" : "target_tokens"].length;
  const upTo = (n) => [...Array(n).keys()].map((i) => [i, i + 1]);
  const target = segment.target_tokens.map(({ piece }) => label(piece));
  const tokens = inEncoder ? segment.source_tokens.map(({ piece }, i) => [i, label(piece)]) : target.map((piece, i) => [i, t("block.predicts", { token: piece })]);
  const isInLayer = !["embedding", "position", "stack", "linear", "softmax"].includes(sublayer);
  const rows = rowsOf(block, config);
  const isAttention = rows.includes("attention");
  const controls = el("div", { className: "controls" },
    isInLayer ? picker("block-layer", t("attention.layer"), upTo(inEncoder ? config.n_encoder_layers : config.n_decoder_layers), shown.layer, (layer) => choose({ layer: Number(layer) }, "block-layer")) : null,
    isAttention ? picker("block-head", t("attention.head"), upTo((!inEncoder && config.decoder_n_heads) || config.n_heads), attention.head, (head) => choose({ head: Number(head) }, "block-head")) : null,
    picker("block-token", t("step.token"), tokens, shown.token, (token) => choose({ token: Number(token) }, "block-token")));
  const isStart = !inEncoder && !shown.token;
  const of = isStart ? t("block.start", { piece: shown.piece }) : t(inEncoder ? "block.of.source" : "block.of.target", { token: label(shown.piece), position: shown.token });
  const parts = [];
  let vectors = [];
  const flush = () => { if (vectors.length) parts.push(vectorTable(vectors)); vectors = []; };
  for (const row of rows) {
    if (row === "attention") { flush(); parts.push(attentionTable(attention)); }
    else if (row === "logits") { flush(); parts.push(...logitTable(shown)); }
    else vectors.push(vectorRow(row, shown, length));
  }
  flush();
  return el("div", { className: "panel", id: "block" }, el("h3", { tabIndex: -1 }, title, " ", el("span", { className: "quiet" }, section)),
    el("p", { className: "equations" }, equations.map((one) => el("span", {}, formula(one)))), el("p", {}, text),
    controls, el("p", { className: "quiet" }, of), parts);
}
