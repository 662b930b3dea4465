/** A search by name for long lists of languages. */

import { byId, el, icon } from "../frame/dom.js";
import { nameIn, t, whenLocaleChanges } from "../frame/strings.js";
import { inOrder } from "./languages.js";

/** The most languages that a list shows without a search. */
const FEW = 12;

const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

/** Whether a language's name, its own name for itself or its code contains the typed text. */
export function isMeant(typed, code, name) {
  return [name, nameIn(code) ?? "", code].some((one) => plain(one).includes(plain(typed.trim())));
}

/** Add a search button to each list; `choose(side, code)` receives the chosen language. */
export function watchSearch(store, choose) {
  const dialog = byId("language-dialog");
  const field = byId("language-field");
  const found = byId("language-found");
  const buttons = ["source", "target"].map((side) => {
    const button = el("button", { type: "button", className: "icon", hidden: true, onclick: () => open(side) }, icon("M13 13l4 4M8.5 14a5.5 5.5 0 1 1 0-11 5.5 5.5 0 0 1 0 11z"));
    byId(`${side}-language`).after(button);
    return button;
  });
  let side = "source";

  const show = () => {
    const options = [...byId(`${side}-language`).options].map(({ value, text }) => [value, text]);
    const names = new Map(options);
    const [recent, all] = inOrder(side, [...names.keys()].filter((code) => code !== "auto"), names);
    const codes = [...new Set([...(names.has("auto") ? ["auto"] : []), ...recent, ...all])].filter((code) => isMeant(field.value, code, names.get(code)));
    found.replaceChildren(...codes.map((code) => el("li", {}, el("button", { type: "button", onclick: () => { dialog.close(); choose(side, code); } }, el("span", {}, names.get(code)), el("small", { lang: code }, nameIn(code) ?? "")))));
    if (!codes.length) found.append(el("li", { className: "quiet" }, t("language.none")));
  };
  const open = (which) => {
    side = which;
    field.value = "";
    show();
    dialog.showModal();
  };
  field.oninput = show;
  dialog.onkeydown = (event) => {
    const listed = [...found.querySelectorAll("button")];
    if (event.key === "Enter" && event.target === field) listed[0]?.click();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step && !(event.key === "Enter" && event.target === field)) return;
    event.preventDefault();
    if (step) (listed[listed.indexOf(document.activeElement) + step] ?? field).focus();
  };
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
  const label = () => {
    for (const button of buttons) {
      button.hidden = store.state.languages.length <= FEW;
      button.ariaLabel = button.title = t("language.search");
    }
  };
  store.watch((_, changed) => { if (changed.has("languages")) label(); });
  whenLocaleChanges(label);
  label();
}
