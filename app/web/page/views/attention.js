/** What the model attends to, as heat maps. */

import { byId, download, el, picker, segmented } from "../frame/dom.js";
import { describe } from "../server/failures.js";
import { decodeHalf } from "./half.js";
import { drawCells, HeatMap, ramp } from "./heatmap.js";
import { post } from "../server/server.js";
import { number, t, whenLocaleChanges } from "../frame/strings.js";
import { isSame, sentencePicker, subjectOf, subjectRequest } from "./subject.js";
import { axes, kindsOf, tokenElements } from "./tokens.js";


/** One head's weights [rows × columns] of [heads × rows × columns], or the mean of all. */
export function headWeights(weights, [, heads, rows, columns], head) {
  const size = rows * columns;
  if (head !== "mean") return weights.subarray(head * size, (head + 1) * size);
  const mean = new Float32Array(size);
  for (let h = 0; h < heads; h += 1) for (let i = 0; i < size; i += 1) mean[i] += weights[h * size + i] / heads;
  return mean;
}

/** Build the view in an element, and keep it up to date while it is shown. */
export function showAttention(place, store) {
  const view = { kind: "cross", layer: "last", head: "mean" };
  let shown = null; // what was answered: {subject, segment, text, attention, weights}
  let asked = 0;
  let nodes = { source: [], target: [] };

  const controls = el("div", { className: "controls" });
  const texts = el("div", { className: "texts" });
  const readout = el("p", { className: "readout" });
  const heads = el("div", { className: "heads" });
  const describeCell = (row, column) => {
    const [rows, columns] = axes(view.kind, shown.segment);
    const weight = map.matrix.weights[row * map.matrix.columns + column];
    return t("attention.cell", { row: rows[row], column: columns[column], weight: number(weight, 3) });
  };
  const map = new HeatMap(t("attention.title"), describeCell, (row, column) => pick(row, column));
  const scroller = el("div", { className: "scroller" }, map.canvas);
  const headsTitle = el("h2", {});
  const body = el("div", { className: "figure card" }, texts, el("div", { className: "split" },
    el("div", { className: "main" }, scroller, readout), el("div", { className: "side" }, headsTitle, heads)));
  const problem = el("p", { className: "notice", hidden: true });
  place.replaceChildren(controls, problem, body);

  function pick(row, column) {
    for (const node of [...nodes.source, ...nodes.target]) node?.classList.remove("linked");
    if (row === null) {
      readout.textContent = t("attention.pick");
      return;
    }
    readout.textContent = describeCell(row, column);
    const rowNodes = view.kind === "encoder" ? nodes.source : nodes.target;
    const columnNodes = view.kind === "decoder" ? nodes.target : nodes.source;
    rowNodes[row]?.classList.add("linked");
    columnNodes[view.kind === "decoder" ? column - 1 : column]?.classList.add("linked");
  }

  const model = () => {
    const { info, result } = store.state;
    return info && ([info, ...info.others].find((one) => one.model === result?.answer.model) ?? info);
  };

  function showControls() {
    byId("attention-lead").textContent = t(`attention.lead.${view.kind}`);
    const subject = subjectOf(store.state);
    const focused = document.activeElement?.id || document.activeElement?.value;
    const parts = [sentencePicker(subject, store), segmented("kind", t("attention.kind"), kindsOf(model()).map((kind) => [kind, t(`attention.${kind}`)]), view.kind, (kind) => {
      Object.assign(view, { kind, layer: "last", head: "mean" });
      load(true);
    })];
    if (shown) {
      const [, nHeads] = shown.attention.shape;
      const layers = [...Array(shown.nLayers).keys()].map((layer) => [layer, layer + 1]);
      const choices = [["mean", t("attention.mean")], ...[...Array(nHeads).keys()].map((head) => [head, head + 1])];
      const save = (format, run) => el("button", { type: "button", className: "plain", ariaLabel: t("save", { format }), title: t("save", { format }), onclick: run }, format);
      parts.push(
        picker("layer", t("attention.layer"), layers, shown.attention.layers[0], (layer) => { view.layer = Number(layer); load(true); }),
        picker("head", t("attention.head"), choices, view.head, (head) => { view.head = head === "mean" ? head : Number(head); draw(); }),
        el("span", { className: "spring" }), save("SVG", saveSvg), save("PNG", savePng), save("JSON", saveJson));
    }
    controls.replaceChildren(...parts);
    if (focused) [...controls.querySelectorAll("select, input")].find((node) => node.id === focused || node.value === focused)?.focus();
  }

  const name = (end) => `attention-${view.kind}-layer${shown.attention.layers[0] + 1}-head-${view.head === "mean" ? "mean" : view.head + 1}.${end}`;
  const saveSvg = () => download(name("svg"), map.toSvg(), "image/svg+xml");
  const savePng = () => map.canvas.toBlob((picture) => download(name("png"), picture));
  const saveJson = () => {
    const { rows, columns, weights } = map.matrix;
    const [row_tokens, column_tokens] = axes(view.kind, shown.segment);
    const matrix = [...Array(rows).keys()].map((row) => [...weights.subarray(row * columns, (row + 1) * columns)].map((weight) => Math.round(1e4 * weight) / 1e4));
    download(name("json"), JSON.stringify({ kind: view.kind, layer: shown.attention.layers[0], head: view.head, row_tokens, column_tokens, weights: matrix }), "application/json");
  };

  function draw() {
    if (!shown) return;
    const { attention, weights, segment, subject, text } = shown;
    const [, nHeads, rows, columns] = attention.shape;
    const [rowLabels, columnLabels] = axes(view.kind, segment);
    map.canvas.setAttribute("aria-label", t("attention.map", { rows, columns }));
    map.show({ rows, columns, weights: headWeights(weights, attention.shape, view.head), rowLabels, columnLabels }, scroller.clientWidth || 640);
    const source = tokenElements(subject.text, segment.source_tokens);
    const target = tokenElements(text, segment.target_tokens);
    nodes = { source: source.nodes, target: target.nodes };
    texts.replaceChildren(el("p", { lang: subject.source }, source.pieces), el("p", { lang: subject.target }, target.pieces));
    headsTitle.textContent = t("attention.heads", { layer: attention.layers[0] + 1 });
    const colours = ramp();
    const width = 128;
    const height = Math.max(24, Math.min(190, (width * rows) / columns));
    heads.replaceChildren(...[...Array(nHeads).keys()].map((head) => {
      const canvas = el("canvas", { ariaHidden: "true" });
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      drawCells(canvas, { rows, columns, weights: headWeights(weights, attention.shape, head) }, width, height, colours);
      return el("button", { type: "button", ariaPressed: String(head === view.head), onclick: () => {
        view.head = view.head === head ? "mean" : head;
        draw();
        showControls();
        heads.children[head].focus();
      } }, canvas, el("span", {}, `${t("attention.head")} ${head + 1}`));
    }));
    pick(null, null);
  }

  async function load(isForced = false) {
    const subject = subjectOf(store.state);
    if (!isForced && shown && isSame(subject, shown.subject)) {
      showControls();
      return;
    }
    const mine = asked += 1;
    if (!subject) {
      fail(store.state.text.trim() && store.state.result ? t("attention.unavailable") : "");
      return;
    }
    try {
      const attention = { kind: view.kind, layers: view.layer === "last" ? "last" : [view.layer], heads: "all", encoding: "base64" };
      const answer = await post("translate", { ...subjectRequest(subject, store.state), split_sentences: false, attention });
      if (mine !== asked) return;
      const [translation] = answer.translations;
      const [segment] = translation.segments;
      if (!segment) throw new Error(t("attention.unavailable"));
      const nLayers = view.layer === "last" ? segment.attention.layers[0] + 1 : shown.nLayers;
      shown = { subject, segment, text: translation.text, attention: segment.attention, weights: decodeHalf(segment.attention.weights), nLayers };
      problem.hidden = true;
      body.hidden = false;
      showControls();
      draw();
    } catch (error) {
      if (mine === asked) fail(describe(error));
    }
  }

  function fail(message) {
    shown = null;
    body.hidden = true;
    problem.hidden = !message;
    problem.textContent = message;
    showControls();
  }

  const isShown = () => store.state.view === "attention";
  store.watch((_, changed) => {
    if (isShown() && ["view", "result", "sentence", "languages", "glossary"].some((what) => changed.has(what))) load(changed.has("glossary"));
  });
  whenLocaleChanges(() => { showControls(); draw(); });
  addEventListener("themechange", () => draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  new ResizeObserver(() => { if (shown && isShown() && Math.abs(scroller.clientWidth - map.width) > 4) draw(); }).observe(place);
  byId("view-attention").dataset.ready = "true";
  showControls();
  load();
}
