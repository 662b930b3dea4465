/** The page's own language: its strings, and how it writes numbers and names of languages. */

import { ENGLISH } from "./english.js";
import { FRENCH } from "./french.js";

const LOCALES = { en: ENGLISH, fr: FRENCH };
const KEPT = "attend.locale";

const stored = () => { try { return localStorage.getItem(KEPT); } catch { return null; } };
const preferred = () => (navigator.languages ?? []).map((code) => code.slice(0, 2)).find((code) => code in LOCALES);

let locale = stored() ?? preferred() ?? "en";
if (!(locale in LOCALES)) locale = "en";
const listeners = new Set();

export const currentLocale = () => locale;

/** Call back whenever the language changes. */
export function whenLocaleChanges(listener) { listeners.add(listener); }

/** Speak another language from now on. */
export function setLocale(code) {
  locale = code;
  try { localStorage.setItem(KEPT, code); } catch { /* not kept then */ }
  translatePage();
  for (const listener of listeners) listener();
}

/** A string, with {name} replaced by its value, and {name:singular|plural} by the form for it. */
export function t(name, values = {}) {
  const text = LOCALES[locale][name] ?? ENGLISH[name] ?? name;
  const isOne = (n) => new Intl.PluralRules(locale).select(n) === "one";
  return text
    .replace(/\{(\w+):([^|{}]*)\|([^|{}]*)\}/g, (_, key, one, other) => (isOne(values[key]) ? one : other))
    .replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
}

/** Whether there is such a string. */
export const has = (name) => name in ENGLISH;

/** 0.834 → "83 %" or "83%". */
export function percent(fraction, decimals = 0) {
  return new Intl.NumberFormat(locale, { style: "percent", minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(fraction);
}

/** A number with so many decimals. */
export function number(value, decimals = 0) {
  return new Intl.NumberFormat(locale, { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(value);
}

/** The name of a language; the server's own where the browser knows none. */
export function languageName(code, fallback = code) {
  try {
    const name = new Intl.DisplayNames([locale], { type: "language", fallback: "none" }).of(code);
    if (name) return name[0].toLocaleUpperCase(locale) + name.slice(1);
  } catch { /* a code that is not BCP-47's */ }
  return fallback;
}

/** Put strings where the document has data-t, data-t-label and data-t-placeholder. */
export function translatePage(root = document) {
  document.documentElement.lang = locale;
  for (const node of root.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of root.querySelectorAll("[data-t-label]")) {
    const label = t(node.dataset.tLabel);
    node.setAttribute("aria-label", label);
    if (node.tagName === "BUTTON") node.title = label;
  }
  for (const node of root.querySelectorAll("[data-t-placeholder]")) node.placeholder = t(node.dataset.tPlaceholder);
}
