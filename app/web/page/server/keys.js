/** Asking for a key, where the server needs one. */

import { byId } from "../frame/dom.js";
import { whenKeyNeeded } from "./server.js";
import { t } from "../frame/strings.js";

/** Show a dialog whenever the server wants a key. */
export function watchKeys() {
  const dialog = byId("key-dialog");
  whenKeyNeeded((wasWrong) => new Promise((resolve) => {
    byId("key").value = "";
    byId("key-wrong").textContent = wasWrong ? t("key.wrong") : "";
    byId("key-form").onsubmit = (event) => {
      event.preventDefault();
      dialog.close();
      resolve(byId("key").value.trim());
    };
    dialog.oncancel = (event) => event.preventDefault();
    dialog.showModal();
  }));
}
