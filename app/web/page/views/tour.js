/** A guided tour of the views in eight steps; Esc leaves it, and the step is remembered. */

import { byId, el } from "../frame/dom.js";
import { t, whenLocaleChanges } from "../frame/strings.js";
import { kindsOf } from "./tokens.js";

const KEPT = "attend.tour";
const PATIENCE = 60_000;

/** The steps: their names, views, blocks of figure 1 to open, and elements to outline. */
export function stepsFor(model) {
  const isRecurrent = !kindsOf(model).includes("decoder");
  return [
    { name: "sentence", view: "translate", at: "#panes" },
    { name: "tokens", view: "inside", at: "#figure-tokens" },
    { name: "embedding", view: "inside", block: "encoder/position", at: "#figure-figure" },
    { name: "head", view: "inside", block: "encoder/self_attention", at: "#figure-step" },
    { name: "heads", view: "attention", at: ".maps" },
    { name: isRecurrent ? "recurrent" : "decoder", view: "inside", block: isRecurrent ? "decoder/ssru" : "decoder/self_attention", at: "#figure-figure" },
    { name: "beam", view: "inside", at: "#figure-search" },
    { name: "answer", view: "translate", at: "#panes" },
  ];
}

/** The step to continue with: 0 on a first visit or after the last step. */
export function keptStep() {
  try { return Number(localStorage.getItem(KEPT)) || 0; } catch { return 0; }
}

const keep = (step) => { try { localStorage.setItem(KEPT, String(step)); } catch { /* not kept then */ } };

/** A button that starts the tour or resumes it. */
export function tourButton(store) {
  const step = keptStep();
  return el("button", { type: "button", className: "button tour-start", onclick: () => startTour(store) }, step ? t("tour.resume", { step: step + 1 }) : t("tour.start"));
}

let running = null;

/** Start at the remembered step. */
export function startTour(store) {
  running?.leave();
  const from = document.activeElement;
  const heading = el("h2", { tabIndex: -1 });
  const text = el("p", {});
  const count = el("span", { className: "quiet" });
  const button = (name, run, look = "button") => el("button", { type: "button", className: look, onclick: run });
  const back = button("back", () => show(step - 1));
  const next = button("next", () => (step === 7 ? leave(true) : show(step + 1)), "primary");
  const close = button("leave", () => leave(), "plain");
  const panel = el("div", { className: "tour card", role: "dialog", id: "tour" }, heading, text, el("div", { className: "actions" }, count, el("span", { className: "spring" }), close, back, next));
  let step = 0;
  let pointed = null;
  let asked = 0;

  const model = () => store.state.info;

  function write() {
    const { name } = stepsFor(model())[step];
    heading.textContent = t(`tour.${name}.title`);
    text.textContent = t(`tour.${name}`);
    panel.setAttribute("aria-label", t("tour.title"));
    count.textContent = t("tour.step", { step: step + 1, n: 8 });
    back.textContent = t("tour.back");
    next.textContent = t(step === 7 ? "tour.end" : "tour.next");
    close.textContent = matchMedia("(pointer: coarse)").matches ? t("tour.leave").replace(/ \(.*/, "") : t("tour.leave");
    back.disabled = step === 0;
  }

  async function show(to) {
    step = to;
    keep(step);
    write();
    const mine = asked += 1;
    const { view, block, at } = stepsFor(model())[step];
    pointed?.classList.remove("pointed");
    store.set({ view, ...(block ? { block } : {}) });
    heading.focus({ preventScroll: true });
    for (const end = Date.now() + PATIENCE; Date.now() < end && mine === asked; await new Promise((done) => setTimeout(done, 60))) {
      const found = document.querySelector(at);
      if (!found?.offsetHeight || (block && document.getElementById("block")?.dataset.block !== block)) continue;
      pointed = found;
      pointed.classList.add("pointed");
      pointed.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
      return;
    }
  }

  function leave(isDone = false) {
    asked += 1;
    if (isDone) keep(0);
    pointed?.classList.remove("pointed");
    panel.remove();
    removeEventListener("keydown", onkey);
    running = null;
    for (const start of document.querySelectorAll(".tour-start")) start.replaceWith(tourButton(store));
    (from?.isConnected ? from : byId("main")).focus({ preventScroll: true });
  }

  const onkey = (event) => { if (event.key === "Escape") leave(); };
  addEventListener("keydown", onkey);
  running = { leave, write };
  document.body.append(panel);
  if (!store.state.text.trim()) store.set({ text: t("example"), source: "auto" });
  show(Math.min(7, keptStep()));
}

whenLocaleChanges(() => running?.write());
