/** §6.1: the beams of every step as a tree, with the likeliest next tokens of each. */

import { el, svg } from "../frame/dom.js";
import { number, percent, t } from "../frame/strings.js";
import { label } from "./tokens.js";

const COLUMN = 108;
const ROW = 42;
const BOX = [84, 30];
const END = "</s>";

/** The beams that lead to a finished one, as [step, beam] pairs from the first. */
export function pathTo(steps, step, beam) {
  const path = [];
  for (let [s, b] = [step, beam]; b !== null && s >= 0; [s, b] = [s - 1, steps[s].beams[b].parent]) path.unshift([s, b]);
  return path;
}

/** The best finished beam with the answer's text, as [step, beam]; null if the trace has none. */
export function endOf(steps, answer) {
  let best = null;
  steps.forEach(({ ended }, step) => ended.forEach(({ beam, text, score, capped }) => {
    const fits = Math.abs(score - answer.score) < 1e-9 || text === answer.text;
    if (fits && (!best || score > best.score)) best = { step, beam, score, capped };
  }));
  return best;
}

/** The text of a beam and its predecessors. */
export function saidBy(steps, step, beam) {
  return pathTo(steps, step, beam).map(([s, b]) => steps[s].beams[b].piece ?? "").join("").replaceAll("▁", " ").trim();
}

/** The fate of a candidate token: "survives", "finished" with its score, or "dropped". */
export function fateOf(steps, step, beam, piece) {
  if ((steps[step + 1]?.beams ?? []).some((next) => next.parent === beam && next.piece === piece)) return { name: "survives" };
  const ended = steps[step].ended.find((one) => one.beam === beam && (piece === END || one.capped));
  return ended ? { name: "finished", score: ended.score } : { name: "dropped" };
}

/** Draw an answer of POST /explain. */
export function searchTree(answer) {
  const { steps } = answer.search;
  const end = endOf(steps, answer);
  const chosen = new Set((end ? pathTo(steps, end.step, end.beam) : []).map(String));
  const centre = (step, beam) => [BOX[0] / 2 + 6 + step * COLUMN, ROW / 2 + 6 + beam * ROW];
  const nodes = steps.map(() => []);
  const edges = [];
  const ends = [];
  const detail = el("div", { className: "detail", ariaLive: "polite" });
  let at = [0, 0];

  const show = (step, beam) => {
    nodes[at[0]][at[1]].classList.remove("at");
    nodes[at[0]][at[1]].setAttribute("tabindex", "-1");
    at = [step, beam];
    const node = nodes[step][beam];
    node.classList.add("at");
    node.setAttribute("tabindex", "0");
    if (node.isConnected) node.scrollIntoView({ block: "nearest", inline: "center" });
    const said = saidBy(steps, step, beam) || t("search.start");
    const one = steps[step].beams[beam];
    const rows = one.likeliest.map(({ piece, probability }) => {
      const fate = fateOf(steps, step, beam, piece);
      const mark = el("span", { className: "bar-mark" });
      mark.style.width = `${100 * probability}%`;
      const text = fate.name === "finished" ? t("search.finished", { score: number(fate.score, 2) }) : t(`search.${fate.name}`);
      return el("li", { className: fate.name }, el("span", { className: "piece" }, piece === END ? t("search.end") : label(piece)),
        el("span", { className: "bar-frame" }, mark), el("span", { className: "n" }, small(probability)), el("span", { className: "fate" }, text));
    });
    detail.replaceChildren(el("h3", {}, t("search.next", { text: said })),
      el("p", { className: "quiet" }, `${t("search.step", { step: step + 1, n: steps[step].beams.length })} · ${t("search.total", { total: number(one.log_prob, 2) })}`),
      el("ol", { className: "likeliest" }, rows));
  };

  steps.forEach(({ beams, ended }, step) => beams.forEach((beam, place) => {
    const [x, y] = centre(step, place);
    const isChosen = chosen.has(String([step, place]));
    if (beam.parent !== null) {
      const [px, py] = centre(step - 1, beam.parent);
      const [from, to] = [px + BOX[0] / 2, x - BOX[0] / 2];
      edges.push(svg("path", { d: `M${from} ${py}C${(from + to) / 2} ${py} ${(from + to) / 2} ${y} ${to} ${y}`, class: isChosen ? "edge chosen" : "edge" }));
    }
    const isAlive = (steps[step + 1]?.beams ?? []).some(({ parent }) => parent === place);
    const over = ended.find((one) => one.beam === place);
    const name = beam.piece === null ? t("search.start") : label(beam.piece);
    const fate = over ? t("search.finished", { score: number(over.score, 2) }) : t(isAlive ? "search.survives" : "search.dropped");
    const node = svg("g", {
      class: ["node", isChosen ? "chosen" : "", isAlive || over ? "" : "dead"].join(" "), role: "button", "data-step": step || place ? step + 1 : "start", tabindex: step || place ? -1 : 0,
      "aria-label": `${t("search.step", { step: step + 1, n: beams.length })}: ${name}, ${t("search.total", { total: number(beam.log_prob, 2) })}, ${fate}`,
      onclick: () => show(step, place), onfocus: () => show(step, place), onkeydown: (event) => move(event),
    },
    svg("rect", { x: x - BOX[0] / 2, y: y - BOX[1] / 2, width: BOX[0], height: BOX[1], rx: 8 }),
    svg("text", { x, y: y + 4.5 }, name.length > 11 ? `${name.slice(0, 10)}…` : name));
    nodes[step].push(node);
    if (over) {
      const isAnswer = end && end.step === step && end.beam === place;
      ends.push(svg("g", { class: isAnswer ? "over chosen" : "over" },
        svg("circle", { cx: x + BOX[0] / 2, cy: y - BOX[1] / 2 + 2, r: 5.5 }), svg("title", {}, t("search.finished", { score: number(over.score, 2) }))));
    }
  }));

  const move = (event) => {
    const [step, beam] = at;
    const to = { ArrowLeft: [step - 1, steps[step].beams[beam].parent ?? 0], ArrowRight: [step + 1, Math.max(0, (steps[step + 1]?.beams ?? []).findIndex(({ parent }) => parent === beam))], ArrowUp: [step, beam - 1], ArrowDown: [step, beam + 1] }[event.key];
    if (!to) return;
    event.preventDefault();
    nodes[to[0]]?.[to[1]]?.focus();
  };

  const widest = Math.max(...steps.map(({ beams }) => beams.length));
  const [width, height] = [steps.length * COLUMN + 12, widest * ROW + 12];
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "tree", role: "group", "aria-label": t("search.tree") },
    ...edges, ...nodes.flat(), ...ends);
  show(0, 0);
  return el("div", {}, el("div", { className: "scroller" }, drawing),
    el("p", { className: "readout" }, t("search.answer", { text: answer.text, score: number(answer.score, 2) })), detail);
}

/** A probability as a percentage, with decimals if it is small. */
function small(probability) {
  if (probability < 0.0005) return `< ${percent(0.001, 1)}`;
  return percent(probability, probability < 0.1 ? 1 : 0);
}
