/** What the server serves: requested when this module loads, before the page's strings have loaded. */

import { get } from "./server.js";

async function request() {
  const [languages, settings] = await Promise.all([get("languages"), get("frontend/settings")]);
  return { languages, settings };
}

let early = request().catch(() => null); // without a dialog for a key

/** The languages and settings of the server. */
export async function served() {
  const found = await early;
  early = null;
  return found ?? request();
}
