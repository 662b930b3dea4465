/** The last translations, which only this browser keeps. */

import { byId, el } from "../frame/dom.js";
import { languageName, t, whenLocaleChanges } from "../frame/strings.js";
import { keep, kept } from "../state/kept.js";

/** The most entries, and the most characters of a text that is kept. */
const MOST = 50;
const LONGEST = 5000;

/** Milliseconds for which a translation must stay unchanged before it is saved. */
const SETTLED = 3000;

/** The entries with a new one first, which replaces earlier versions of its text. */
export function withEntry(entries, entry) {
  const [latest] = entries;
  const isEarlier = (other) => other.target === entry.target && (other.text === entry.text || (other === latest && entry.text.startsWith(other.text)));
  return [entry, ...entries.filter((other) => !isEarlier(other))].slice(0, MOST);
}

/** Save translations and list them in a <details>; `restore(entry)` shows one again. */
export function watchSaved(place, store, restore) {
  const body = el("div", {});
  place.append(body);
  let settling = null;

  const note = () => {
    const { result, text, format } = store.state;
    if (!result || result.wish.text !== text || text.length > LONGEST || !kept("history.on", true)) return;
    const { source, target } = result.translation;
    keep("history", withEntry(kept("history", []), { source, target, format, text, translation: byId("translation").textContent }));
    show();
  };
  const show = () => {
    const entries = kept("history", []);
    const isOn = kept("history.on", true);
    body.replaceChildren(
      el("div", { className: "bar" }, el("label", { className: "switch" },
        el("input", { type: "checkbox", checked: isOn, onchange: (event) => { keep("history.on", event.target.checked); if (!event.target.checked) keep("history", null); show(); } }), t("saved.keep")),
      el("span", { className: "quiet" }, t("saved.help", { n: MOST })), el("span", { className: "spring" }),
      entries.length ? el("button", { type: "button", className: "plain", onclick: () => { keep("history", null); show(); } }, t("saved.clear")) : null),
      entries.length ? el("ul", { className: "saved" }, entries.map((entry) => el("li", {}, el("button", { type: "button", onclick: () => restore(entry) },
        el("small", {}, `${languageName(entry.source)} → ${languageName(entry.target)}`),
        el("span", { lang: entry.source, dir: "auto" }, entry.text), el("span", { lang: entry.target, dir: "auto" }, entry.translation))))) : el("p", { className: "quiet" }, t("saved.empty")));
  };
  const wait = () => {
    clearTimeout(settling);
    settling = setTimeout(note, SETTLED);
  };
  store.watch((_, changed) => { if (changed.has("result") || changed.has("choices")) wait(); });
  addEventListener("storage", show); // another tab has changed them
  whenLocaleChanges(show);
  show();
  wait();
}
