/** The page: one state, its views, undo, and the address that reproduces it. */

import { EMPTY, fromFragment, toFragment } from "./state/address.js";
import { byId, el, toast } from "./frame/dom.js";
import { History } from "./state/history.js";
import { keep, kept } from "./state/kept.js";
import { watchKeys } from "./server/keys.js";
import { get } from "./server/server.js";
import { served } from "./server/served.js";
import { Store } from "./state/store.js";
import { currentLocale, LOCALES, nameIn, setLocale, t, translatePage, whenLocaleChanges } from "./frame/strings.js";
import { TranslateView } from "./panes/translate.js";

/** The parts of the state that undo restores: those that a person edits. */
const MADE = ["source", "target", "text", "format", "glossary", "choices"];
const THEMES = ["auto", "light", "dark"];

const made = (state) => Object.fromEntries(MADE.map((name) => [name, state[name]]));
const store = new Store({ ...EMPTY, ...fromFragment(location.hash), result: null, sentence: 0, block: "encoder/self_attention", info: null, languages: [], settings: {} });
const history = new History(made(store.state));
let isReplaying = false;

let sheet = null;

/** A view's module, once the style sheet of figures is there. */
async function drawn(module) {
  sheet ??= new Promise((onload) => { document.head.append(el("link", { rel: "stylesheet", href: new URL("views/figures.css", import.meta.url), onload })); });
  await sheet;
  return module;
}

const loaders = {
  attention: async () => (await drawn(import("./views/attention.js"))).showAttention(byId("attention-body"), store),
  inside: async () => (await drawn(import("./views/inside.js"))).showInside(byId("inside-body"), store),
  api: async () => (await import("./server/clients.js")).showClients(byId("api-body"), store),
};

function showView(view) {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== `view-${view}`;
  for (const tab of byId("tabs").children) {
    if (tab.dataset.view === view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  document.title = view === "translate" ? "attend" : `${t(`tab.${view}`)} · attend`;
  const load = loaders[view];
  delete loaders[view];
  load?.();
}

/** Update the address and the links to the views, which keep the rest of the state. */
function showAddress(state) {
  for (const link of document.querySelectorAll("[data-view]")) link.href = toFragment({ ...state, view: link.dataset.view });
  const fragment = toFragment(state);
  if (fragment !== location.hash) globalThis.history.replaceState(null, "", fragment);
}

function showUndo() {
  byId("undo").disabled = !history.canUndo;
  byId("redo").disabled = !history.canRedo;
}

function replay(state) {
  if (!state) return;
  isReplaying = true;
  store.set(state);
  isReplaying = false;
  showUndo();
}

store.watch((state, changed) => {
  if (changed.has("view")) showView(state.view);
  if (MADE.some((name) => changed.has(name))) {
    const group = [...changed].join() === "text" ? "typing" : null;
    if (!isReplaying) history.note(made(state), group);
    showUndo();
  }
  if (changed.has("view") || MADE.some((name) => changed.has(name))) showAddress(state);
});

function showTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const label = t("theme", { theme: t(`theme.${theme}`) });
  byId("theme").title = label;
  byId("theme").setAttribute("aria-label", label);
  globalThis.dispatchEvent(new Event("themechange"));
}

const keptTheme = () => (THEMES.includes(kept("theme")) ? kept("theme") : "auto");
matchMedia("(prefers-color-scheme: dark)").onchange = () => showTheme(keptTheme());

byId("theme").onclick = () => {
  const theme = THEMES[(THEMES.indexOf(keptTheme()) + 1) % THEMES.length];
  keep("theme", theme);
  showTheme(theme);
  toast(t("theme", { theme: t(`theme.${theme}`) }));
};
byId("locale").append(...LOCALES.map((code) => el("option", { value: code, lang: code }, nameIn(code))));
byId("locale").onchange = (event) => setLocale(event.target.value);
byId("undo").onclick = () => replay(history.undo());
byId("redo").onclick = () => replay(history.redo());

addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const isElsewhere = event.target.matches?.("input:not([type=radio]):not([type=checkbox])");
  const key = event.key.toLowerCase();
  if (isElsewhere || !(key === "z" || key === "y")) return;
  event.preventDefault();
  replay(key === "y" || event.shiftKey ? history.redo() : history.undo());
});
addEventListener("hashchange", () => {
  const same = (name, value) => JSON.stringify(value) === JSON.stringify(store.state[name]);
  store.set(Object.fromEntries(Object.entries(fromFragment(location.hash)).filter(([name, value]) => !same(name, value))));
});
setInterval(() => { if (!document.hasFocus()) history.settle(); }, 1000);

function showLocale() {
  byId("locale").value = currentLocale();
  showTheme(keptTheme());
}
whenLocaleChanges(showLocale);

async function start() {
  translatePage();
  showLocale();
  watchKeys(store);
  const view = new TranslateView(store, history);
  showView(store.state.view);
  showAddress(store.state);
  for (;;) {
    try {
      store.set(await served());
      get("info").then((info) => store.set({ info }), () => {}); // it may need a key
      break;
    } catch (error) {
      await view.wait(error);
    }
  }
}

start();
