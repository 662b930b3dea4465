/** The entries of the glossary: a row each, and an empty one for the next. */

import { byId, el, icon } from "../frame/dom.js";
import { t } from "../frame/strings.js";

/** What a request says of entries: [term, translation]; without a translation the term stays. */
export function glossaryFields(entries) {
  const written = entries.map(([term, translation]) => [term.trim(), translation.trim()]).filter(([term]) => term);
  return {
    glossary: Object.fromEntries(written.filter(([, translation]) => translation)),
    do_not_translate: [...new Set(written.filter(([, translation]) => !translation).map(([term]) => term))],
  };
}

/** Show and edit the store's entries. */
export class Glossary {
  #store;

  constructor(store) {
    this.#store = store;
    const open = byId("glossary-open");
    open.onclick = () => {
      const card = byId("glossary");
      card.hidden = !card.hidden;
      open.setAttribute("aria-expanded", String(!card.hidden));
      if (!card.hidden) card.querySelector("input").focus();
    };
    this.show();
  }

  /** Rows for the entries of the state. What a person is typing in stays as it is. */
  show() {
    const rows = byId("glossary-rows");
    const entries = this.#store.state.glossary;
    byId("glossary-count").textContent = entries.filter(([term]) => term.trim()).length || "";
    if (rows.contains(document.activeElement) && rows.childElementCount === entries.length + 1) return;
    rows.replaceChildren(...[...entries, ["", ""]].map((entry, index) => this.#row(entry, index)));
  }

  #row([term, translation], index) {
    const change = (side, value) => {
      const entries = this.#store.state.glossary.map((entry) => [...entry]);
      entries[index] ??= ["", ""];
      entries[index][side] = value;
      // A row for the next entry comes first, so that this one need not be built anew.
      if (index === entries.length - 1 && byId("glossary-rows").childElementCount === entries.length) {
        byId("glossary-rows").append(this.#row(["", ""], entries.length));
      }
      this.#store.set({ glossary: entries });
    };
    const field = (side, label, value, placeholder) => el("input", {
      value, placeholder, ariaLabel: `${label} ${index + 1}`, maxLength: 1024, oninput: (event) => change(side, event.target.value),
    });
    const remove = el("button", {
      type: "button", className: "icon", ariaLabel: t("glossary.remove", { term: term || index + 1 }), title: t("glossary.remove", { term: term || index + 1 }),
      onclick: () => {
        this.#store.set({ glossary: this.#store.state.glossary.filter((_, other) => other !== index) });
        byId("glossary-rows").querySelector("input").focus();
      },
    }, icon("m5 5 10 10M15 5 5 15"));
    return el("div", { className: "entry" },
      field(0, t("glossary.term"), term, t("glossary.term")), el("span", { ariaHidden: "true" }, "→"),
      field(1, t("glossary.translation"), translation, t("glossary.keep")), remove);
  }
}
