/** Controls beside the translation, which load after the first one. */

import { Alternatives } from "./alternatives.js";
import { byId } from "../frame/dom.js";
import { watchExchange } from "./exchange.js";
import { watchSearch } from "./language_search.js";
import { watchSaved } from "./saved.js";
import { watchSpeech } from "./speech.js";
import { watchStatus } from "../server/status.js";

/** Show them; the callbacks are for the search, the voices and the history. */
export function showExtras(store, { choose, translation, restore }) {
  watchStatus(store);
  watchSearch(store, choose);
  watchExchange(byId("exchange"), store);
  watchSaved(byId("saved"), store, restore);
  watchSpeech(store, translation);
  return { alternatives: new Alternatives(store) };
}
