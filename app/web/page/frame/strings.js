/** The page's own language: its strings, and how it writes numbers and names of languages. */

import { keep, kept } from "../state/kept.js";

/** The page's languages and the modules with their strings, all with the same keys. A browser loads one. */
const TABLES = {
  en: async () => (await import("./english.js")).ENGLISH,
  de: async () => (await import("./german.js")).GERMAN,
  es: async () => (await import("./spanish.js")).SPANISH,
  fr: async () => (await import("./french.js")).FRENCH,
};
export const LOCALES = Object.keys(TABLES);

const preferred = () => (navigator.languages ?? []).map((code) => code.slice(0, 2)).find((code) => code in TABLES);

let locale = [kept("locale"), preferred()].find((code) => code in TABLES) ?? "en";
let table = await TABLES[locale]();
const listeners = new Set();

export const currentLocale = () => locale;

/** Call back whenever the language changes. */
export function whenLocaleChanges(listener) { listeners.add(listener); }

/** Speak another language from now on. */
export async function setLocale(code) {
  table = await TABLES[code]();
  locale = code;
  keep("locale", code);
  translatePage();
  for (const listener of listeners) listener();
}

/** A string, with {name} replaced by its value, and {name:singular|plural} by the form for it. */
export function t(name, values = {}) {
  const text = table[name] ?? name;
  const isOne = (n) => new Intl.PluralRules(locale).select(n) === "one";
  return text
    .replace(/\{(\w+):([^|{}]*)\|([^|{}]*)\}/g, (_, key, one, other) => (isOne(values[key]) ? one : other))
    .replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
}

/** Whether there is such a string. */
export const has = (name) => name in table;

/** 0.834 → "83 %" or "83%". */
export function percent(fraction, decimals = 0) {
  return new Intl.NumberFormat(locale, { style: "percent", minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(fraction);
}

/** A number with so many decimals. */
export function number(value, decimals = 0) {
  return new Intl.NumberFormat(locale, { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(value);
}

/** "a, b, c", as the page's language writes it. */
export const list = (items) => new Intl.ListFormat(locale, { type: "unit" }).format(items);

/** The name of a language; the server's own where the browser knows none. */
export function languageName(code, fallback = code) { return nameIn(locale, code) ?? fallback; }

/** The name of a language in another one, by default in itself; undefined where the browser knows none. */
export function nameIn(locale, code = locale) {
  try {
    const name = new Intl.DisplayNames([locale], { type: "language", fallback: "none" }).of(code);
    return name && name[0].toLocaleUpperCase(locale) + name.slice(1);
  } catch { /* a code that is not BCP-47's */ }
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
