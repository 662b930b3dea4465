/** Translation of files that are chosen or dropped. */

import { byId, el, icon } from "../frame/dom.js";
import { describe } from "../server/failures.js";
import { BASE, upload } from "../server/server.js";
import { percent, t } from "../frame/strings.js";

/** Accept files from the button, and files dropped anywhere on the page. */
export function watchFiles(store) {
  const field = byId("file");
  byId("choose-file").onclick = () => field.click();
  field.onchange = () => {
    for (const file of field.files) send(file, store.state);
    field.value = "";
  };
  const drop = byId("drop");
  let depth = 0;
  const has = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => { if (has(event)) { depth += 1; drop.hidden = false; } });
  addEventListener("dragleave", (event) => { if (has(event) && (depth -= 1) <= 0) { depth = 0; drop.hidden = true; } });
  addEventListener("dragover", (event) => { if (has(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!has(event)) return;
    event.preventDefault();
    depth = 0;
    drop.hidden = true;
    store.set({ view: "translate" });
    for (const file of event.dataTransfer.files) send(file, store.state);
  });
}

/** Show the formats that the server accepts. */
export function showFormats(formats) {
  byId("file").accept = formats.join(",");
  byId("choose-file").title = t("file.formats", { formats: formats.join(" ") });
}

/** "a.md" → "a.fr.md", as the server names it. */
export const translatedName = (name, target) => name.replace(/(?<=.)(\.[^.]*)?$/, (suffix) => `.${target}${suffix}`);

async function send(file, { source, target }) {
  const progress = el("progress", { max: 1, value: 0, ariaLabel: file.name });
  const note = el("span", { className: "quiet" });
  const item = el("li", {},
    icon("M5 2.5h6l4 4v11H5zM11 2.5v4h4"), el("span", { className: "name" }, file.name), note, progress);
  const dismiss = el("button", {
    type: "button", className: "icon", ariaLabel: t("file.dismiss", { name: file.name }), title: t("file.dismiss", { name: file.name }), onclick: () => item.remove(),
  }, icon("m5 5 10 10M15 5 5 15"));
  byId("files").append(item);
  const form = new FormData();
  form.append("source", source);
  form.append("target", target);
  form.append("file", file);
  let ticking = null;
  try {
    const answer = await upload("translate_file", form, (fraction) => {
      progress.value = fraction;
      note.textContent = t("file.uploading", { percent: percent(fraction) });
      if (fraction < 1 || ticking) return;
      const began = Date.now();
      progress.removeAttribute("value");
      ticking = setInterval(() => { note.textContent = t("file.translating", { seconds: Math.round((Date.now() - began) / 1000) }); }, 500);
    });
    // The server's idea of its own address may be wrong behind a proxy: only the path is used.
    const address = new URL(`download_file/${answer.translatedFileUrl.split("/").pop()}`, BASE);
    note.textContent = t("file.done");
    item.append(el("a", { className: "button primary", href: address.href, download: "" }, t("file.download", { name: translatedName(file.name, target) })));
  } catch (error) {
    note.className = "wrong";
    note.textContent = describe(error);
  } finally {
    clearInterval(ticking);
    progress.remove();
    item.append(dismiss);
  }
}
