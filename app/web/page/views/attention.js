/** The model's attention as heat maps. */

import { byId, download, el, picker, segmented } from "../frame/dom.js";
import { describe } from "../server/failures.js";
import { decodeHalf } from "./half.js";
import { compareSection } from "./compare.js";
import { HeatMap } from "./heatmap.js";
import { lineView } from "./lines.js";
import { mapsGrid } from "./maps.js";
import { colourLegend, specialsList } from "./specials.js";
import { post } from "../server/server.js";
import { number, t, whenLocaleChanges } from "../frame/strings.js";
import { isSame, sentencePicker, subjectOf, subjectRequest } from "./subject.js";
import { axes, kindsOf, tokenElements } from "./tokens.js";

/** The weights [rows × columns] of a head, or the mean of all, in a layer of [layers × heads × rows × columns]. */
export function headWeights(weights, [, heads, rows, columns], head, layer = 0) {
  const size = rows * columns;
  const at = layer * heads * size;
  if (head !== "mean") return weights.subarray(at + head * size, at + (head + 1) * size);
  const mean = new Float32Array(size);
  for (let h = 0; h < heads; h += 1) for (let i = 0; i < size; i += 1) mean[i] += weights[at + h * size + i] / heads;
  return mean;
}

/** Build the view in an element, and keep it up to date while it is shown. */
export function showAttention(place, store) {
  const view = { kind: "cross", layer: null, head: "mean", look: "cells" };
  let shown = null; // what was answered: {subject, segment, text, attention, weights}
  let asked = 0;
  let nodes = { source: [], target: [] };

  const controls = el("div", { className: "controls" });
  const texts = el("div", { className: "texts" });
  const readout = el("p", { className: "readout" });
  const describeCell = (row, column) => {
    const [rows, columns] = axes(view.kind, shown.segment);
    const weight = map.matrix.weights[row * map.matrix.columns + column];
    return t("attention.cell", { row: rows[row], column: columns[column], weight: number(weight, 3) });
  };
  const map = new HeatMap(t("attention.title"), describeCell, (row, column) => pick(row, column));
  const scroller = el("div", { className: "scroller" }, map.canvas);
  const lines = el("div", { className: "scroller" });
  const legend = el("div", {});
  const [mapsTitle, mapsText] = [el("h2", {}), el("p", {})];
  const maps = el("div", {});
  const compared = el("div", {});
  const body = el("div", {}, el("div", { className: "figure card" }, texts, el("div", { className: "beside" }, scroller, lines, el("div", {}, readout, legend))),
    el("section", { className: "figure card" }, mapsTitle, mapsText, maps), compared);
  const problem = el("p", { className: "notice", hidden: true });
  place.replaceChildren(controls, problem, body);
  let comparison = null; // of the languages that it is for

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
      Object.assign(view, { kind, layer: null, head: "mean" });
      load(true);
    }), segmented("look", t("attention.look"), ["cells", "lines"].map((look) => [look, t(`attention.${look}`)]), view.look, (look) => { view.look = look; draw(); })];
    if (shown) {
      const [nLayers, nHeads] = shown.attention.shape;
      const layers = [...Array(nLayers).keys()].map((layer) => [layer, layer + 1]);
      const choices = [["mean", t("attention.mean")], ...[...Array(nHeads).keys()].map((head) => [head, head + 1])];
      const save = (format, run) => el("button", { type: "button", className: "plain", ariaLabel: t("save", { format }), title: t("save", { format }), onclick: run }, format);
      parts.push(
        picker("layer", t("attention.layer"), layers, layerShown(), (layer) => { view.layer = Number(layer); draw(); }),
        picker("head", t("attention.head"), choices, view.head, (head) => { view.head = head === "mean" ? head : Number(head); draw(); }),
        el("span", { className: "spring" }), el("span", {}, save("SVG", saveSvg), save("PNG", savePng), save("JSON", saveJson)));
    }
    controls.replaceChildren(...parts);
    if (focused) [...controls.querySelectorAll("select, input")].find((node) => node.id === focused || node.value === focused)?.focus();
  }

  const layerShown = () => Math.min(view.layer ?? Infinity, shown.attention.shape[0] - 1);
  const name = (end) => `attention-${view.kind}-layer${layerShown() + 1}-head-${view.head === "mean" ? "mean" : view.head + 1}.${end}`;
  const saveSvg = () => download(name("svg"), map.toSvg(), "image/svg+xml");
  const savePng = () => map.canvas.toBlob((picture) => download(name("png"), picture));
  const saveJson = () => {
    const { rows, columns, weights } = map.matrix;
    const [row_tokens, column_tokens] = axes(view.kind, shown.segment);
    const matrix = [...Array(rows).keys()].map((row) => [...weights.subarray(row * columns, (row + 1) * columns)].map((weight) => Math.round(1e4 * weight) / 1e4));
    download(name("json"), JSON.stringify({ kind: view.kind, layer: layerShown(), head: view.head, row_tokens, column_tokens, weights: matrix }), "application/json");
  };

  function draw() {
    if (!shown) return;
    const { attention, weights, segment, subject, text } = shown;
    const [, , rows, columns] = attention.shape;
    const [rowLabels, columnLabels] = axes(view.kind, segment);
    const matrix = { rows, columns, weights: headWeights(weights, attention.shape, view.head, layerShown()), rowLabels, columnLabels };
    const title = t("attention.map", { rows, columns });
    map.canvas.setAttribute("aria-label", title);
    scroller.hidden = view.look === "lines";
    lines.hidden = !scroller.hidden;
    map.show(matrix, room());
    lines.replaceChildren(lines.hidden ? "" : lineView(matrix, t("attention.title"), { onpick: pickRow }));
    const source = tokenElements(subject.text, segment.source_tokens);
    const target = tokenElements(text, segment.target_tokens);
    nodes = { source: source.nodes, target: target.nodes };
    texts.replaceChildren(el("p", { lang: subject.source }, source.pieces), el("p", { lang: subject.target }, target.pieces));
    const pieces = segment[view.kind === "decoder" ? "target_tokens" : "source_tokens"].map(({ piece }) => piece);
    legend.replaceChildren(colourLegend(), specialsList([...segment.source_tokens, ...segment.target_tokens].map(({ piece }) => piece)));
    mapsTitle.textContent = t("maps.title");
    mapsText.textContent = t("maps.text");
    maps.replaceChildren(mapsGrid({ kind: view.kind, shape: attention.shape, weights, pieces }, { layer: layerShown(), head: view.head }, (layer, head) => {
      const isShown = layer === layerShown() && head === view.head;
      Object.assign(view, { layer, head: isShown ? "mean" : head });
      draw();
      showControls();
      maps.querySelector(`[data-layer="${layer}"][data-head="${head}"]`).focus();
    }));
    compare(subject);
    if (lines.hidden) pick(null, null);
    else pickRow(null);
  }

  /** Highlight the token of a row of the line view. */
  function pickRow(row) {
    for (const node of [...nodes.source, ...nodes.target]) node?.classList.remove("linked");
    if (row === null) {
      readout.textContent = t("attention.pick.row");
      return;
    }
    const { weights, columns } = map.matrix;
    const ofRow = [...weights.subarray(row * columns, (row + 1) * columns)];
    readout.textContent = describeCell(row, ofRow.indexOf(Math.max(...ofRow)));
    (view.kind === "encoder" ? nodes.source : nodes.target)[row]?.classList.add("linked");
  }

  /** Show the two sentences, which keep their text while the languages are the same. */
  function compare(subject) {
    const languages = `${subject.source} ${subject.target}`;
    if (comparison?.languages !== languages) {
      comparison = { languages, ...compareSection(subject, () => (view.kind === "encoder" && view.head !== "mean" ? { layer: layerShown(), head: view.head } : null)) };
      compared.replaceChildren(comparison.node);
    } else comparison.draw();
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
      const attention = { kind: view.kind, layers: "all", heads: "all", encoding: "base64" };
      const answer = await post("translate", { ...subjectRequest(subject, store.state), split_sentences: false, attention });
      if (mine !== asked) return;
      const [translation] = answer.translations;
      const [segment] = translation.segments;
      if (!segment) throw new Error(t("attention.unavailable"));
      shown = { subject, segment, text: translation.text, attention: segment.attention, weights: decodeHalf(segment.attention.weights) };
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

  /** The width available for the map, in pixels. */
  const room = () => texts.clientWidth || 640;
  const isShown = () => store.state.view === "attention";
  store.watch((_, changed) => {
    if (isShown() && ["view", "result", "sentence", "languages", "glossary"].some((what) => changed.has(what))) load(changed.has("glossary"));
  });
  whenLocaleChanges(() => { comparison = null; showControls(); draw(); });
  addEventListener("themechange", () => draw());
  new ResizeObserver(() => { if (shown && isShown() && Math.abs(room() - map.width) > 4) draw(); }).observe(place);
  byId("view-attention").dataset.ready = "true";
  showControls();
  load();
}
