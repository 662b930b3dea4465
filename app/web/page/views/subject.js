/** The sentence that the views of the model show. */

import { el, icon } from "../frame/dom.js";
import { glossaryFields } from "../panes/glossary.js";
import { t } from "../frame/strings.js";

/** {text, source, target, index, n, isExample}: the sentence at the caret, else an example; null if there is none. */
export function subjectOf(state) {
  const { result, sentence, languages } = state;
  if (result?.sentences.length) {
    const index = Math.min(sentence, result.sentences.length - 1);
    const { source, target } = result.translation;
    return { text: result.wish.text.slice(...result.sentences[index].source), source, target, index, n: result.sentences.length, isExample: false };
  }
  const english = languages.find(({ code }) => code === "en");
  if (state.text.trim() || !english) return null;
  const targets = english.targets.filter((code) => code !== "en");
  const target = targets.includes(state.target) ? state.target : targets[0];
  return { text: t("example"), source: "en", target, index: 0, n: 1, isExample: true };
}

/** The fields of a request for a subject. */
export function subjectRequest(subject, state) {
  return { text: subject.text, source: subject.source, target: subject.target, ...glossaryFields(state.glossary) };
}

/** Whether two subjects are equal. */
export function isSame(a, b) {
  return a?.text === b?.text && a?.source === b?.source && a?.target === b?.target;
}

/** The sentence's number, with buttons for its neighbours. */
export function sentencePicker(subject, store) {
  if (!subject || subject.isExample) return el("p", { className: "quiet" }, subject ? t("example.note") : "");
  if (subject.n < 2) return "";
  const step = (by, label, path) => el("button", {
    type: "button", className: "icon", ariaLabel: t(label), title: t(label), disabled: !(subject.index + by in [...Array(subject.n)]),
    onclick: () => store.set({ sentence: subject.index + by }),
  }, icon(path));
  return el("span", { className: "picker" }, step(-1, "sentence.previous", "m12 4-6 6 6 6"),
    el("span", {}, `${t("sentence")} ${t("sentence.of", { index: subject.index + 1, n: subject.n })}`), step(1, "sentence.next", "m8 4 6 6-6 6"));
}
