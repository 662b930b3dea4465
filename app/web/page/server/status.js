/** The line at the bottom: the model, its device, and the load. */

import { byId, el } from "../frame/dom.js";
import { get, isAboutKeys, whenKeyGiven } from "./server.js";
import { number, t, whenLocaleChanges } from "../frame/strings.js";

const EVERY = 5000;

/** Keep the line up to date while the page is visible. */
export function watchStatus(store) {
  let live = {};
  let before = null;
  let needsKey = false;
  let looking = false;
  let hasLoad = true; // unless metrics are on a port of their own

  const show = () => {
    const { info } = store.state;
    const models = info?.others.length ? t("status.models", { n: info.others.length + 1 }) : info?.model;
    const parts = info ? [models, info.device, info.precision, t("status.threads", { n: info.threads })] : [];
    if (live.busy !== undefined) parts.push(t("status.busy", { n: number(live.busy) }));
    if (live.rate !== undefined) parts.push(t("status.rate", { n: number(live.rate) }));
    if (live.fault) parts.push(t(live.fault));
    byId("status").replaceChildren(
      el("span", { className: live.fault ? "dot gone" : "dot", ariaHidden: "true" }), ...parts.map((part) => el("span", {}, part)),
      el("span", { className: "spring" }), el("a", { href: "docs" }, "API"), el("span", {}, info ? `attend ${info.version}` : "attend"));
  };

  const look = async () => {
    if (document.hidden || looking) return;
    looking = true;
    try {
      if (hasLoad) {
        const load = await get("status").catch((error) => { if (error.status === 404) hasLoad = false; else throw error; });
        live = load ? measure(load) : {};
      }
      if (!store.state.info && !needsKey) store.set({ info: await get("info") });
    } catch (error) {
      needsKey = isAboutKeys(error);
      live = { fault: needsKey ? "status.key" : "status.unreachable" };
    }
    if (needsKey) live.fault = "status.key";
    looking = false;
    show();
  };

  const measure = (load) => {
    const now = { at: performance.now(), tokens: load.tokens_generated };
    const rate = before ? Math.max(0, (1000 * (now.tokens - before.tokens)) / (now.at - before.at)) : undefined;
    before = now;
    return { busy: load.requests, rate };
  };

  /** Whether a model that was not loaded has answered: the shelf loads models on demand. */
  const isStale = ({ info, result }) => {
    const models = info ? [info, ...info.others] : [];
    return models.some(({ model, state }) => state !== "loaded" && result?.answer.model.split("+").includes(model));
  };
  store.watch(async (state, changed) => {
    if (changed.has("result") && isStale(state)) store.set({ info: await get("info").catch(() => state.info) });
  });
  whenKeyGiven(() => { needsKey = false; look(); });
  whenLocaleChanges(show);
  show();
  look();
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
}
