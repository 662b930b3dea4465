/** The page's language: its strings, and its forms of numbers and language names. */

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

/** Change the page's language. */
export async function setLocale(code) {
  table = await TABLES[code]();
  locale = code;
  keep("locale", code);
  translatePage();
  for (const listener of listeners) listener();
}

/** A string; {name} is replaced by its value, and {name:singular|plural} by the form for that value. */
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

/** A number with a fixed count of decimals. */
export function number(value, decimals = 0) {
  return new Intl.NumberFormat(locale, { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(value);
}

/** "a, b, c" in the form of the page's language. */
export const list = (items) => new Intl.ListFormat(locale, { type: "unit" }).format(items);

/** The name of a language, or the fallback if the browser does not know it. */
export function languageName(code, fallback = code) { return nameIn(locale, code) ?? fallback; }

/** The name of a language in another language, by default in itself; undefined if the browser does not know it. */
export function nameIn(locale, code = locale) {
  try {
    const name = new Intl.DisplayNames([locale], { type: "language", fallback: "none" }).of(code);
    return name && name[0].toLocaleUpperCase(locale) + name.slice(1);
  } catch { /* a code that is not BCP-47's */ }
}

/** Fill in the strings of the attributes data-t, data-t-label and data-t-placeholder. */
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
