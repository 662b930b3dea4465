/** The dialog for the API key. */

import { byId } from "../frame/dom.js";
import { askForKey, onKeyNeeded } from "./server.js";
import { t } from "../frame/strings.js";

/** Open the dialog when the server requires a key, or when a person wants to change it. */
export function watchKeys(store) {
  const dialog = byId("key-dialog");
  byId("key-open").onclick = () => askForKey();
  byId("key-later").onclick = () => dialog.close();
  byId("key-form").onsubmit = (event) => {
    event.preventDefault();
    dialog.close(byId("key").value.trim());
  };
  onKeyNeeded((wasWrong) => new Promise((resolve) => {
    byId("key").value = "";
    byId("key-wrong").textContent = wasWrong ? t("key.wrong") : "";
    dialog.returnValue = "";
    dialog.onclose = () => {
      resolve(dialog.returnValue || null);
      if (store.state.view === "translate") byId("text").focus({ preventScroll: true });
    };
    dialog.showModal();
  }));
  store.watch(({ settings }, changed) => { if (changed.has("settings")) byId("key-open").hidden = !settings.keyRequired; });
}
