/** The glossary's entries: a row for each, and an empty row for the next. */

import { byId, el, icon } from "../frame/dom.js";
import { t } from "../frame/strings.js";
import { keep, kept } from "../state/kept.js";

/** The fields of a request for entries [term, translation]; a term without a translation stays unchanged. */
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
    byId("glossary-choose").onchange = ({ target: { value: name } }) => {
      byId("glossary-name").value = name;
      if (name) this.#store.set({ glossary: kept("glossaries", {})[name] });
      this.#showNames();
    };
    byId("glossary-name").oninput = () => this.#showNames();
    byId("glossary-save").onclick = () => {
      const written = this.#store.state.glossary.filter(([term]) => term.trim());
      this.#keep({ ...kept("glossaries", {}), [byId("glossary-name").value.trim()]: written });
    };
    byId("glossary-delete").onclick = () => {
      const { [byId("glossary-name").value.trim()]: _, ...others } = kept("glossaries", {});
      byId("glossary-name").value = "";
      this.#keep(others);
    };
    this.show();
  }

  #keep(glossaries) {
    keep("glossaries", glossaries);
    this.#showNames();
  }

  /** Show the list of saved glossaries, and enable the buttons for the named one. */
  #showNames() {
    const names = Object.keys(kept("glossaries", {})).sort();
    const name = byId("glossary-name").value.trim();
    const list = byId("glossary-choose");
    list.replaceChildren(el("option", { value: "" }, t("glossary.choose")), ...names.map((one) => el("option", { value: one }, one)));
    list.value = names.includes(name) ? name : "";
    list.hidden = !names.length;
    byId("glossary-save").disabled = !name;
    byId("glossary-delete").hidden = !names.includes(name);
  }

  /** Show rows for the entries; the field with the focus stays unchanged. */
  show() {
    this.#showNames();
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
      // The next empty row is added first, so that this one is not rebuilt.
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
