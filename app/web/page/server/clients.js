/** Examples for the API, with this server's address filled in. */

import { copy, el, toast } from "../frame/dom.js";
import { ADDRESS } from "./server.js";
import { t, whenLocaleChanges } from "../frame/strings.js";

/** The body of a request, without fields that have their default values. */
export function bodyOf({ text, source, target, format = "text", glossary = {}, do_not_translate = [] }) {
  const body = { text, source, target };
  if (format !== "text") body.format = format;
  if (Object.keys(glossary).length) body.glossary = glossary;
  if (do_not_translate.length) body.do_not_translate = do_not_translate;
  return body;
}

/** [key of the title, code] for each client; the address has no slash at the end. */
export function examples(address, body, keyed) {
  const { text, source, target } = body;
  const bearer = (form) => (keyed ? form : "");
  const json = JSON.stringify(body, null, 1).replace(/\n */g, " ");
  const literal = JSON.stringify;
  return [
    ["curl",
`curl ${address}/translate${bearer(" -H 'Authorization: Bearer KEY'")} \\
  -d '${json.replaceAll("'", "'\\''")}'`],
    ["Python",
`import httpx

body = ${json}
answer = httpx.post("${address}/translate", json=body${bearer(`,
                    headers={"Authorization": "Bearer KEY"}`)})
print(answer.json()["translations"][0]["text"])`],
    ["JavaScript",
`const body = ${json};
const answer = await fetch("${address}/translate", {
  method: "POST", body: JSON.stringify(body)${bearer(`,
  headers: { Authorization: "Bearer KEY" }`)},
});
console.log((await answer.json()).translations[0].text);`],
    ["api.libretranslate",
`from libretranslatepy import LibreTranslateAPI

client = LibreTranslateAPI("${address}"${bearer(', "KEY"')})
print(client.translate(${literal(text)}, "${source}", "${target}"))`],
    ["api.deepl",
`import deepl

client = deepl.DeepLClient("${keyed ? "KEY" : "any key"}", server_url="${address}")
print(client.translate_text(${literal(text)}, target_lang="${{ en: "EN-US", pt: "PT-PT" }[target] ?? target.toUpperCase()}"))`],
  ];
}

/** Show the examples and keep them up to date. */
export function showClients(place, store) {
  const show = () => {
    const { settings, target, result } = store.state;
    const body = result ? bodyOf(result.wish) : { text: "The weather is nice today.", source: "auto", target: target || "fr" };
    place.replaceChildren(
      el("p", { className: "links" },
        el("a", { href: "docs", className: "button primary" }, t("api.reference")),
        el("a", { href: "openapi.json", className: "button" }, t("api.description"))),
      settings.keyRequired ? el("p", { className: "notice" }, t("api.key")) : "",
      el("div", { className: "recipes" }, examples(ADDRESS, body, settings.keyRequired).map(([name, code]) =>
        el("section", { className: "card recipe" },
          el("div", { className: "bar" }, el("h2", {}, t(name)), el("span", { className: "spring" }),
            el("button", { type: "button", className: "plain", ariaLabel: `${t("copy")}: ${t(name)}`, onclick: async () => { if (await copy(code)) toast(t("copied")); } }, t("copy"))),
          el("pre", { tabIndex: 0, ariaLabel: t(name), role: "region" }, el("code", {}, code))))));
  };
  store.watch((_, changed) => { if (["settings", "target", "result"].some((name) => changed.has(name))) show(); });
  whenLocaleChanges(show);
  show();
}
