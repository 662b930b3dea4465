/** Values that this browser keeps between visits, as JSON in its local storage. */

const PREFIX = "attend.";

/** The value kept under a name, or `fallback`. */
export function kept(name, fallback = null) {
  try { return JSON.parse(localStorage.getItem(PREFIX + name)) ?? fallback; } catch { return fallback; }
}

/** Keep a value; null deletes it. Browsers may refuse. */
export function keep(name, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch { /* not kept then */ }
}
