/** openapi.json in readable form: each route's request and answer, and a form to try it. */

import { byId, copy, el, toast } from "../frame/dom.js";
import { nameOf, shownType, withoutRefs } from "./schema.js";

const BASE = new URL(".", document.baseURI);
const METHODS = ["get", "post", "put", "delete", "patch"];
const KEY = "attend.key";

const id = (method, path) => `${method}${path.replace(/\W+/g, "-")}`;
const anchor = (method, path) => el("a", { href: `#${id(method, path)}` }, el("span", { className: "method" }, method.toUpperCase()), path);

function fields(title, schema, document_) {
  const shape = withoutRefs(schema, document_);
  const required = new Set(shape.required ?? []);
  const rows = Object.entries(shape.properties ?? {}).map(([name, field]) => {
    const one = withoutRefs(field, document_);
    const fallback = "default" in field ? JSON.stringify(field.default) : required.has(name) ? "required" : "";
    return el("tr", {}, el("td", {}, name), el("td", {}, shownType(field, document_)), el("td", {}, el("code", {}, fallback)), el("td", {}, field.description ?? one.description ?? ""));
  });
  if (!rows.length) return null;
  return el("details", {}, el("summary", {}, title), el("div", { className: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ["field", "type", "default", "meaning"].map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows))));
}

/** The schemas of a part of the document, each with its media types. */
function offered(content) {
  const bySchema = new Map();
  for (const [type, { schema }] of Object.entries(content ?? {})) {
    for (const one of schema?.anyOf ?? (schema ? [schema] : [])) {
      const key = JSON.stringify(one);
      bySchema.set(key, { schema: one, types: [...(bySchema.get(key)?.types ?? []), type] });
    }
  }
  return [...bySchema.values()];
}

function exampleOf(content) {
  const json = content?.["application/json"];
  return json?.example ?? Object.values(json?.examples ?? {})[0]?.value;
}

function trial(method, path, operation) {
  const body = exampleOf(operation.requestBody?.content);
  if (path.includes("{") || (operation.requestBody && body === undefined)) return null;
  const examples = Object.values(operation.requestBody?.content?.["application/json"]?.examples ?? {});
  const area = body === undefined ? null : el("textarea", { rows: Math.min(16, JSON.stringify(body, null, 2).split("\n").length), value: JSON.stringify(body, null, 2), spellcheck: false, ariaLabel: `Body of ${method.toUpperCase()} ${path}` });
  const choose = examples.length > 1 && el("select", { ariaLabel: "Example", onchange: () => { area.value = JSON.stringify(examples[choose.value].value, null, 2); } }, examples.map(({ summary }, index) => el("option", { value: index }, summary)));
  const answer = el("pre", { tabIndex: 0, role: "region", ariaLabel: "Answer", hidden: true });
  const note = el("span", { className: "quiet", role: "status" });
  const send = async () => {
    const key = byId("key").value.trim();
    if (key) sessionStorage.setItem(KEY, key);
    const began = performance.now();
    try {
      const response = await fetch(new URL(path.slice(1), BASE), { method: method.toUpperCase(), body: area?.value, headers: { ...(area ? { "Content-Type": "application/json" } : {}), ...(key ? { Authorization: `Bearer ${key}` } : {}) } });
      const text = await response.text();
      note.textContent = `${response.status} ${response.statusText} · ${Math.round(performance.now() - began)} ms`;
      try { answer.textContent = JSON.stringify(JSON.parse(text), null, 2); } catch { answer.textContent = text; }
    } catch (error) {
      note.textContent = String(error.message);
    }
    answer.hidden = false;
  };
  const curl = () => `curl ${new URL(path.slice(1), BASE)}${method === "get" ? "" : ` -X ${method.toUpperCase()}`}${area ? ` -d '${JSON.stringify(JSON.parse(area.value)).replaceAll("'", "'\\''")}'` : ""}`;
  return el("div", {}, el("h3", {}, "Try it"), choose ? el("div", { className: "controls" }, choose) : null, area,
    el("div", { className: "controls" }, el("button", { type: "button", className: "button primary", onclick: send }, "Send"),
      el("button", { type: "button", className: "button", onclick: async () => { if (await copy(curl())) toast("Copied."); } }, "Copy as curl"), note), answer);
}

function section(method, path, operation, document_) {
  const parameters = (operation.parameters ?? []).filter(({ name }) => name !== "X-Request-ID");
  const bodies = offered(operation.requestBody?.content);
  const answers = Object.entries(operation.responses ?? {});
  const good = answers.filter(([status]) => status < 300);
  const bad = answers.filter(([status]) => status >= 300);
  return el("section", { className: "card operation", id: id(method, path) },
    el("h2", {}, el("span", { className: "method" }, method.toUpperCase()), path),
    el("p", {}, operation.description ?? operation.summary ?? ""),
    parameters.length ? el("div", {}, el("h3", {}, "Parameters"), el("table", {}, el("tbody", {}, parameters.map((one) => el("tr", {}, el("td", {}, one.name), el("td", {}, `${one.in}, ${shownType(one.schema, document_)}`), el("td", {}, one.description ?? "")))))) : null,
    bodies.length ? el("div", {}, el("h3", {}, "Body"), bodies.map(({ schema, types }) => fields(`${nameOf(schema)} (${types.join(", ")})`, schema, document_))) : null,
    el("div", {}, el("h3", {}, "Answers"), good.map(([status, { description, content }]) => {
      const shapes = offered(content).map(({ schema, types }) => fields(`${status}: ${nameOf(withoutRefs(schema, document_).items ?? schema)} (${types.join(", ")})`, withoutRefs(schema, document_).items ?? schema, document_)).filter(Boolean);
      return shapes.length ? shapes : el("p", { className: "quiet" }, `${status} ${description}`);
    }), bad.length ? el("p", { className: "quiet" }, bad.map(([status, { description }]) => `${status} ${description}`).join(" · ")) : null),
    trial(method, path, operation));
}

async function show() {
  byId("key-form").onsubmit = (event) => event.preventDefault();
  byId("key").value = sessionStorage.getItem(KEY) ?? "";
  const document_ = await (await fetch(new URL("openapi.json", BASE))).json();
  byId("about").textContent = `${document_.info.summary}. Version ${document_.info.version}, OpenAPI ${document_.openapi}.`;
  const byTag = new Map();
  for (const [path, methods] of Object.entries(document_.paths)) {
    for (const method of METHODS.filter((one) => one in methods)) {
      const [tag = "other"] = methods[method].tags ?? [];
      byTag.set(tag, [...(byTag.get(tag) ?? []), [method, path, methods[method]]]);
    }
  }
  for (const [tag, operations] of byTag) {
    byId("contents").append(el("h2", {}, tag), ...operations.map(([method, path]) => anchor(method, path)));
    byId("routes").append(...operations.map((operation) => section(...operation, document_)));
  }
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

show();
