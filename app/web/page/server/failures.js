/** Failures in plain words. */

import { has, t } from "../frame/strings.js";

/** The page's sentence for a failure, or the server's detail if it has none. */
export function describe(error) {
  const name = `error.${error.kind}`;
  if (has(name)) return t(name);
  const [first] = error.errors ?? [];
  return t("error.other", { detail: first?.detail ?? error.detail ?? error.message });
}
