/** Failures in plain words. */

import { has, t } from "../frame/strings.js";

/** One sentence, or the server's own detail where the page has no words for it. */
export function describe(error) {
  const name = `error.${error.kind}`;
  if (has(name)) return t(name);
  const [first] = error.errors ?? [];
  return t("error.other", { detail: first?.detail ?? error.detail ?? error.message });
}
