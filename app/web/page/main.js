/** The page: one state, its views, undo, and the address that reproduces it. */

import { EMPTY, fromFragment, toFragment } from "./state/address.js";
import { showClients } from "./server/clients.js";
import { byId, el, toast } from "./frame/dom.js";
import { History } from "./state/history.js";
import { keep, kept } from "./state/kept.js";
import { watchKeys } from "./server/keys.js";
import { get } from "./server/server.js";
import { watchStatus } from "./server/status.js";
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

const loaders = {
  attention: () => import("./views/attention.js").then(({ showAttention }) => showAttention(byId("attention-body"), store)),
  inside: () => import("./views/inside.js").then(({ showInside }) => showInside(byId("inside-body"), store)),
  api: async () => showClients(byId("api-body"), store),
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
  watchStatus(store);
  for (;;) {
    try {
      const [languages, settings] = await Promise.all([get("languages"), get("frontend/settings")]);
      store.set({ languages, settings });
      break;
    } catch (error) {
      await view.wait(error);
    }
  }
}

start();
