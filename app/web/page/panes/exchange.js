/** The present request and its answer as JSON, and as code for programs. */

import { copy, el, segmented, toast } from "../frame/dom.js";
import { t, whenLocaleChanges } from "../frame/strings.js";
import { bodyOf, examples } from "../server/clients.js";
import { ADDRESS } from "../server/server.js";

const JSON_FORMS = ["exchange.request", "exchange.answer"];
const CODE_FORMS = ["curl", "Python", "JavaScript"];

/** The answer that a program gets: without the word links, which only the page requests. */
export function answerTo(answer) {
  return { ...answer, translations: answer.translations.map(({ segments, ...translation }) => translation) };
}

/** Keep a <details> up to date while it is open. */
export function watchExchange(place, store) {
  const controls = el("div", { className: "bar" });
  const code = el("code", {});
  place.append(controls, el("pre", { tabIndex: 0, role: "region", ariaLabel: t("exchange") }, code));
  let form = JSON_FORMS[0];

  const content = ({ result, settings }) => {
    const body = bodyOf(result.wish);
    if (form === "exchange.request") return JSON.stringify(body, null, 2);
    if (form === "exchange.answer") return JSON.stringify(answerTo(result.answer), null, 2);
    return examples(ADDRESS, body, settings.keyRequired).find(([name]) => name === form)[1];
  };
  const show = () => {
    place.hidden = !store.state.result;
    if (place.hidden || !place.open) return;
    controls.replaceChildren(
      segmented("exchange", t("exchange"), [...JSON_FORMS, ...CODE_FORMS].map((name) => [name, t(name)]), form, (name) => { form = name; code.textContent = content(store.state); }),
      el("span", { className: "spring" }),
      el("button", { type: "button", className: "plain", onclick: async () => { if (await copy(code.textContent)) toast(t("copied")); } }, t("copy")));
    code.textContent = content(store.state);
  };
  place.addEventListener("toggle", show);
  store.watch((_, changed) => { if (changed.has("result")) show(); });
  whenLocaleChanges(show);
  show();
}
