/** What this browser keeps for the page between visits, as JSON in its local storage. */

const PREFIX = "attend.";

/** What was kept under a name, or `fallback`. */
export function kept(name, fallback = null) {
  try { return JSON.parse(localStorage.getItem(PREFIX + name)) ?? fallback; } catch { return fallback; }
}

/** Keep a value; null forgets it. Browsers may refuse. */
export function keep(name, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch { /* not kept then */ }
}
