/** The text below the panes: a legend of the underlines, instructions, and examples to start with. */

import { byId, el } from "../frame/dom.js";
import { percent, t } from "../frame/strings.js";
import { UNCERTAIN } from "./words.js";

/** The legend of the underlines, if the translation has any. */
function legend() {
  const words = byId("translation").querySelector("[class*=doubt-]");
  if (!words || !byId("show-confidence").checked) return "";
  const steps = UNCERTAIN.map((limit, step) => el("span", { className: `w doubt-${step + 1}` }, t("confidence.below", { percent: percent(limit) })));
  return el("p", { className: "legend doubtful" }, t("confidence.legend"), ...steps);
}

function examples(store) {
  const { text, languages } = store.state;
  if (text || !languages.some(({ code }) => code === "en")) return [];
  const example = (name) => el("button", { type: "button", className: "plain", lang: "en", onclick: () => store.set({ text: t(name) }) }, t(name));
  return [t("try"), " ", example("example"), example("example.other")];
}

/** Show the hints, and on touch screens the button for alternatives. */
export function showHints(store, isTouch) {
  const hasSentences = store.state.result?.sentences.length > 0;
  byId("translation").classList.toggle("doubtful", byId("show-confidence").checked);
  byId("other").hidden = !isTouch || !hasSentences;
  byId("hint").replaceChildren(legend(), ...(hasSentences ? [t(isTouch ? "hint.touch" : "hint")] : examples(store)));
}
