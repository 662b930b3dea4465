/** The lists of languages: all that the server has, recent ones first. */

import { el } from "../frame/dom.js";
import { languageName, t } from "../frame/strings.js";
import { keep, kept } from "../state/kept.js";

const MOST_RECENT = 3;

const recent = (side) => kept(`recent.${side}`, []);

/** Note that a language was chosen on a side, "source" or "target". */
export function noteRecent(side, code) {
  const codes = [code, ...recent(side).filter((other) => other !== code)].slice(0, MOST_RECENT);
  keep(`recent.${side}`, codes);
}

/** The most recently chosen target among the codes, if any. */
export function recentTarget(codes) {
  return recent("target").find((code) => codes.includes(code));
}

/** The targets of a source language; for "auto", the targets of all languages. */
export function targetsOf(languages, source) {
  const from = languages.filter(({ code }) => source === "auto" || code === source);
  return [...new Set(from.flatMap(({ targets }) => targets))];
}

const RIGHT_TO_LEFT = new Set("ar arb arc ckb dv fa glk he iw ks lrc mzn nqo pes prs ps sd ug ur uig ydd yi".split(" "));

/** "rtl" or "ltr": by a text's first letter, else by its language. */
export function directionOf(code, text = "") {
  const [letter] = /\p{L}/u.exec(text) ?? [];
  if (letter) return /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(letter) ? "rtl" : "ltr";
  const script = /[-_](\p{L}{4})\b/u.exec(code)?.[1];
  return (script ? /^(Arab|Hebr|Syrc|Thaa|Nkoo)$/i.test(script) : RIGHT_TO_LEFT.has(code.split(/[-_]/)[0])) ? "rtl" : "ltr";
}

/** The recently chosen codes of a side, and all codes sorted by name. */
export function inOrder(side, codes, names) {
  const name = (code) => languageName(code, names.get(code));
  const all = [...codes].sort((a, b) => name(a).localeCompare(name(b)));
  return [recent(side).filter((code) => codes.includes(code)), all];
}

/** Fill a select with the options `first` and the languages. */
export function fill(select, side, codes, names, chosen, first = []) {
  const option = (code) => el("option", { value: code }, languageName(code, names.get(code)));
  const [lately, byName] = inOrder(side, codes, names);
  const rest = lately.length && codes.length > 6
    ? [el("optgroup", { label: t("language.recent") }, lately.map(option)), el("optgroup", { label: t("language.all") }, byName.map(option))]
    : byName.map(option);
  select.replaceChildren(...first, ...rest);
  select.value = chosen;
}
