/** The line at the bottom: what runs here, and how busy it is. */

import { byId, el } from "../frame/dom.js";
import { get, getText } from "./server.js";
import { number, t, whenLocaleChanges } from "../frame/strings.js";

const EVERY = 5000;

/** The values of some metrics, summed over their labels, from Prometheus's text format. */
export function readMetrics(text, names) {
  const values = Object.fromEntries(names.map((name) => [name, 0]));
  for (const line of text.split("\n")) {
    const found = /^([a-z_]+)(?:\{[^}]*\})? (\S+)/.exec(line);
    if (found && found[1] in values) values[found[1]] += Number(found[2]);
  }
  return values;
}

const IN_FLIGHT = "attend_requests_admitted";
const TOKENS = "attend_tokens_generated_total";

/** Keep the line up to date while the page is looked at. */
export function watchStatus(store) {
  let live = {};
  let before = null;
  let hasMetrics = true;

  const show = () => {
    const { info } = store.state;
    const models = info?.others.length ? t("status.models", { n: info.others.length + 1 }) : info?.model;
    const parts = info ? [models, info.device, info.precision, t("status.threads", { n: info.threads })] : [];
    if (live.busy !== undefined) parts.push(t("status.busy", { n: number(live.busy) }));
    if (live.rate !== undefined) parts.push(t("status.rate", { n: number(live.rate) }));
    if (live.gone) parts.push(t("status.unreachable"));
    byId("status").replaceChildren(
      el("span", { className: live.gone ? "dot gone" : "dot", ariaHidden: "true" }), ...parts.map((part) => el("span", {}, part)),
      el("span", { className: "spring" }), el("a", { href: "docs" }, "API"), el("span", {}, info ? `attend ${info.version}` : "attend"));
  };

  const look = async () => {
    if (document.hidden) return;
    try {
      if (!store.state.info) store.set({ info: await get("info") });
      live = {};
      if (hasMetrics) {
        const text = await getText("metrics").catch((error) => { if (error.status === 404) hasMetrics = false; else throw error; });
        if (text) live = measure(text);
      }
    } catch {
      live = { gone: true };
    }
    show();
  };

  const measure = (text) => {
    const values = readMetrics(text, [IN_FLIGHT, TOKENS]);
    const now = { at: performance.now(), tokens: values[TOKENS] };
    const rate = before ? Math.max(0, (1000 * (now.tokens - before.tokens)) / (now.at - before.at)) : undefined;
    before = now;
    return { busy: values[IN_FLIGHT], rate };
  };

  whenLocaleChanges(show);
  show();
  look();
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
}
