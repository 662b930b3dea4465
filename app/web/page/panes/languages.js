/** The two lists of languages: all that the server has, recent ones first. */

import { el } from "../frame/dom.js";
import { languageName, t } from "../frame/strings.js";

const MOST_RECENT = 3;

function recent(side) {
  try {
    return JSON.parse(localStorage.getItem(`attend.recent.${side}`)) ?? [];
  } catch {
    return [];
  }
}

/** Note that a language was chosen on a side, "source" or "target". */
export function noteRecent(side, code) {
  const codes = [code, ...recent(side).filter((other) => other !== code)].slice(0, MOST_RECENT);
  try {
    localStorage.setItem(`attend.recent.${side}`, JSON.stringify(codes));
  } catch { /* not kept then */ }
}

/** The most recent target that is on offer. */
export function recentTarget(codes) {
  return recent("target").find((code) => codes.includes(code));
}

/** The targets of a source language; of "auto" those of all. */
export function targetsOf(languages, source) {
  const from = languages.filter(({ code }) => source === "auto" || code === source);
  return [...new Set(from.flatMap(({ targets }) => targets))];
}

/** Fill a select with codes; `first` is in front of them. */
export function fill(select, side, codes, names, chosen, first = []) {
  const option = (code) => el("option", { value: code }, languageName(code, names.get(code)));
  const byName = [...codes].sort((a, b) => languageName(a, names.get(a)).localeCompare(languageName(b, names.get(b))));
  const lately = codes.length > 6 ? recent(side).filter((code) => codes.includes(code)) : [];
  const rest = lately.length
    ? [el("optgroup", { label: t("language.recent") }, lately.map(option)), el("optgroup", { label: t("language.all") }, byName.map(option))]
    : byName.map(option);
  select.replaceChildren(...first, ...rest);
  select.value = chosen;
}
