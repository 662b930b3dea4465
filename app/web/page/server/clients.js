/** First steps for those who came for the API, with this server's address filled in. */

import { copy, el, toast } from "../frame/dom.js";
import { BASE } from "./server.js";
import { t, whenLocaleChanges } from "../frame/strings.js";

/** [string's name, code] of each way to ask a server at an address without a slash at the end. */
export function examples(address, target, keyed) {
  const key = keyed ? "KEY" : null;
  const bearer = (form) => (key ? form : "");
  return [
    ["api.curl",
`curl ${address}/translate${bearer(" -H 'Authorization: Bearer KEY'")} \\
  -d '{"text": "The weather is nice today.", "target": "${target}"}'`],
    ["api.python",
`import httpx

body = {"text": "The weather is nice today.", "target": "${target}"}
answer = httpx.post("${address}/translate", json=body${bearer(`,
                    headers={"Authorization": "Bearer KEY"}`)})
print(answer.json()["translations"][0]["text"])`],
    ["api.javascript",
`const body = { text: "The weather is nice today.", target: "${target}" };
const answer = await fetch("${address}/translate", {
  method: "POST", body: JSON.stringify(body)${bearer(`,
  headers: { Authorization: "Bearer KEY" }`)},
});
console.log((await answer.json()).translations[0].text);`],
    ["api.libretranslate",
`from libretranslatepy import LibreTranslateAPI

client = LibreTranslateAPI("${address}"${bearer(', "KEY"')})
print(client.translate("The weather is nice today.", "auto", "${target}"))`],
    ["api.deepl",
`import deepl

client = deepl.DeepLClient("${key ?? "any key"}", server_url="${address}")
print(client.translate_text("The weather is nice today.", target_lang="${{ en: "EN-US", pt: "PT-PT" }[target] ?? target.toUpperCase()}"))`],
  ];
}

/** Fill the view, and keep it up to date. */
export function showClients(place, store) {
  const show = () => {
    const { settings, target } = store.state;
    const address = BASE.href.replace(/\/$/, "");
    place.replaceChildren(
      el("p", { className: "links" },
        el("a", { href: "docs", className: "button primary" }, t("api.reference")),
        el("a", { href: "openapi.json", className: "button" }, t("api.description"))),
      settings.keyRequired ? el("p", { className: "notice" }, t("api.key")) : "",
      el("div", { className: "recipes" }, examples(address, target || "fr", settings.keyRequired).map(([name, code]) =>
        el("section", { className: "card recipe" },
          el("div", { className: "bar" }, el("h2", {}, t(name)), el("span", { className: "spring" }),
            el("button", { type: "button", className: "plain", ariaLabel: `${t("copy")}: ${t(name)}`, onclick: async () => { if (await copy(code)) toast(t("copied")); } }, t("copy"))),
          el("pre", { tabIndex: 0, ariaLabel: t(name), role: "region" }, el("code", {}, code))))));
  };
  store.watch((_, changed) => { if (changed.has("settings") || changed.has("target")) show(); });
  whenLocaleChanges(show);
  show();
}
