/** Inside the model: its architecture, its positions, one attention with numbers, and its search. */

import { byId, el, picker, segmented } from "../frame/dom.js";
import { describe } from "../server/failures.js";
import { blockPanel, kindOf, partsOf } from "./block.js";
import { facts, figure1 } from "./figure1.js";
import { decodeHalf } from "./half.js";
import { positionsFigure } from "./positions.js";
import { productsTable } from "./products.js";
import { searchTree } from "./search_tree.js";
import { get, post } from "../server/server.js";
import { number, t, whenLocaleChanges } from "../frame/strings.js";
import { isSame, sentencePicker, subjectOf, subjectRequest } from "./subject.js";
import { specialsList } from "./specials.js";
import { tokenChips, kindsOf, label } from "./tokens.js";
import { tourButton } from "./tour.js";
import { wordOrder } from "./word_order.js";

const POSITIONS = 128;
const MOST_BEAMS = 8;
const BLOCKS = { encoder: "encoder/self_attention", decoder: "decoder/self_attention", cross: "decoder/cross_attention" };

/** Build the view in an element, and keep it up to date while it is shown. */
export function showInside(place, store) {
  const attention = { kind: kindOf(store.state.block), layer: null, head: 0, token: 1 };
  let focusNext = null;
  const search = {};
  let answer = null;
  let positions = null; // {table, shape, name: of the model they are of, drawn}
  let subject = null;
  let asked = 0;

  const controls = el("div", { className: "controls" });
  const problem = el("p", { className: "notice", hidden: true });
  const card = (name) => {
    const [title, text, body] = [el("h2", {}), el("p", {}), el("div", {})];
    const section = el("section", { className: "figure card", id: `figure-${name}` }, title, text, body);
    return { section, body, say: (values = {}, variant = "text") => {
      title.textContent = t(`${name}.title`);
      text.textContent = t(`${name}.${variant}`, values);
    } };
  };
  const cards = Object.fromEntries(["tokens", "figure", "step", "search", "positions"].map((name) => [name, card(name)]));
  const sections = el("nav", { className: "sections" });
  place.replaceChildren(controls, sections, problem, ...Object.values(cards).map(({ section }) => section));

  const model = () => {
    const { info } = store.state;
    return info && ([info, ...info.others].find((one) => one.model === answer?.model) ?? info);
  };

  function showModel() {
    const shown = model();
    cards.figure.say();
    if (!shown) return;
    byId("inside-lead").textContent = t("inside.lead", { model: shown.model, parameters: number(shown.parameters) });
    const { block } = store.state;
    const isOpen = answer?.activations && partsOf(block).stack === answer.activations.stack;
    const lengths = answer && { encoder: answer.segment.source_tokens.length, decoder: answer.segment.target_tokens.length };
    const panel = isOpen ? blockPanel(block, shown.config, answer, (changes, focus) => { Object.assign(attention, changes); load(focus); }) : null;
    if (panel) panel.dataset.block = block;
    cards.figure.body.replaceChildren(el("div", { className: "columns architecture" },
      figure1(shown, lengths, isOpen ? block : null, (chosen) => open(chosen)), el("div", {}, panel, el("details", { open: !panel }, el("summary", {}, t("figure.about")), facts(shown)))));
  }

  /** Open a block of figure 1: its numbers, and the row of attention that belongs to it. */
  function open(block, focus = `[data-block="${block}"]`) {
    focusNext = focus;
    store.set({ block });
  }

  /** Show the row of attention that belongs to the open block's stack. */
  function follow(block) {
    const kind = kindOf(block);
    if (attention.kind === kind) return;
    if (attention.kind === "encoder" || kind === "encoder") Object.assign(attention, { layer: null, token: kind === "encoder" ? 1 : 0 });
    Object.assign(attention, { kind, head: 0 });
  }

  function showAnswer() {
    for (const name of ["tokens", "search", "step", "positions"]) cards[name].section.hidden = !answer;
    controls.replaceChildren(tourButton(store), sentencePicker(subject, store));
    showSections();
    if (!answer) return;
    showTokens();
    showSearch();
    showSteps();
    cards.positions.say();
    positions.drawn = positionsFigure(positions.table, positions.shape);
    cards.positions.body.replaceChildren(positions.drawn.figure, wordOrder(subject, positions.table, positions.shape));
  }

  /** Links to the figures, which stay visible since the page is long. */
  function showSections() {
    sections.ariaLabel = t("inside.sections");
    sections.replaceChildren(...Object.entries(cards).filter(([, { section }]) => !section.hidden).map(([name, { section }]) =>
      el("button", { type: "button", className: "plain", onclick: () => section.scrollIntoView({ block: "start" }) }, t(`${name}.title`))));
  }

  function showTokens() {
    const { source_tokens: source, target_tokens: target } = answer.segment;
    cards.tokens.say({ source: source.length, target: target.length });
    cards.tokens.body.replaceChildren(tokenChips(source, subject.source), tokenChips(target, subject.target), specialsList([...source, ...target].map(({ piece }) => piece)));
  }

  function showSearch() {
    const { beam_size: beam, length_penalty: penalty } = answer.search;
    cards.search.say({ beam }, beam === 1 ? "text.greedy" : "text");
    const beams = [...Array(MOST_BEAMS).keys()].map((i) => [i + 1, i + 1]);
    const value = el("output", {}, number(penalty, 1));
    const slider = el("input", { type: "range", id: "penalty", min: 0, max: 2, step: 0.1, value: penalty,
      oninput: () => { value.textContent = number(Number(slider.value), 1); }, onchange: () => { search.length_penalty = Number(slider.value); load("penalty"); } });
    cards.search.body.replaceChildren(el("div", { className: "controls" },
      picker("beams", t("search.beams"), beams, beam, (size) => { search.beam_size = Number(size); load("beams"); }),
      el("span", { className: "picker" }, el("label", { htmlFor: "penalty" }, t("search.penalty")), slider, value), answer.search.rule === "attend" ? null : el("span", { className: "quiet" }, t("search.rule", { rule: answer.search.rule }))), searchTree(answer));
  }

  function showSteps() {
    const shown = answer.attention;
    const { config } = model() ?? {};
    cards.step.say();
    const again = (changes, focus) => { Object.assign(attention, changes); load(focus); };
    const inEncoder = shown.kind === "encoder";
    const layers = config ? (inEncoder ? config.n_encoder_layers : config.n_decoder_layers) : shown.layer + 1;
    const heads = config ? (inEncoder ? config.n_heads : config.decoder_n_heads ?? config.n_heads) : shown.head + 1;
    const upTo = (n) => [...Array(n).keys()].map((i) => [i, i + 1]);
    const tokens = answer.segment[inEncoder ? "source_tokens" : "target_tokens"].map(({ piece }, i) => [i, label(piece)]);
    cards.step.body.replaceChildren(el("div", { className: "controls" },
      segmented("step-kind", t("attention.kind"), kindsOf(model()).map((kind) => [kind, t(`attention.${kind}`)]), shown.kind, (kind) => open(BLOCKS[kind], `input[value=${kind}][name=step-kind]`)),
      picker("step-layer", t("attention.layer"), upTo(layers), shown.layer, (layer) => again({ layer: Number(layer) }, "step-layer")),
      picker("step-head", t("attention.head"), upTo(heads), shown.head, (head) => again({ head: Number(head) }, "step-head")),
      picker("step-token", t("step.token"), tokens, shown.token, (token) => again({ token: Number(token) }, "step-token"))), productsTable(shown));
  }

  /** `focus` is the id or selector of the control that was used, which is rebuilt. */
  async function load(focus = null) {
    const before = subject;
    subject = subjectOf(store.state);
    if (!isSame(before, subject)) attention.token = attention.kind === "encoder" ? 1 : 0; // a word, not the language
    // The model of another pair may not have this block.
    if (before && (before.source !== subject?.source || before.target !== subject?.target)) store.set({ block: BLOCKS.encoder });
    const mine = asked += 1;
    if (!subject) {
      answer = null;
      fail(store.state.text.trim() && store.state.result ? t("explain.unavailable", { detail: "" }) : "");
      return;
    }
    const { block } = store.state;
    const { kind, ...wanted } = attention;
    if (wanted.layer === null) delete wanted.layer;
    const layer = { ...wanted, stack: partsOf(block).stack };
    delete layer.head;
    try {
      const body = { ...subjectRequest(subject, store.state), ...search, split_sentences: false, attention: { kind, ...wanted }, activations: layer, positions: POSITIONS };
      const found = await post("explain", body);
      if (mine !== asked) return;
      answer = found;
      positions = { table: decodeHalf(found.positions.weights), shape: found.positions.shape };
      problem.hidden = true;
      showModel();
      showAnswer();
      if (model()?.digest === null) store.set({ info: await get("info") }); // it has been loaded
      if (focus) (document.getElementById(focus) ?? place.querySelector(focus))?.focus({ preventScroll: true });
      if (focus?.startsWith("[data-block")) document.getElementById("block").scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (mine !== asked) return;
      answer = null;
      fail(t("explain.unavailable", { detail: describe(error) }));
    }
  }

  function fail(message) {
    problem.textContent = message;
    problem.hidden = !message;
    showAnswer();
  }

  const repaint = () => { if (answer) showAnswer(); };
  store.watch((state, changed) => {
    if (state.view !== "inside") return;
    if (changed.has("info")) { showModel(); repaint(); }
    if (changed.has("block")) { follow(state.block); load(focusNext); focusNext = null; return; }
    if (["view", "result", "sentence", "languages", "glossary"].some((what) => changed.has(what))) {
      if (!answer || changed.has("glossary") || !isSame(subject, subjectOf(state))) load();
    }
  });
  whenLocaleChanges(() => { showModel(); showAnswer(); });
  addEventListener("themechange", repaint);
  showModel();
  showAnswer();
  load();
}
