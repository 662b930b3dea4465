/** The state in the fragment of the address, which browsers do not send to servers. */

export const VIEWS = ["translate", "attention", "inside", "api"];

export const EMPTY = {
  view: "translate", source: "auto", target: "", text: "", format: "text", glossary: [], choices: {},
};

/** A state → "#/translate?from=en&to=fr&text=…". */
export function toFragment(state) {
  const query = new URLSearchParams();
  if (state.source !== EMPTY.source) query.set("from", state.source);
  if (state.target) query.set("to", state.target);
  if (state.format !== EMPTY.format) query.set("format", state.format);
  for (const [term, translation] of state.glossary) query.append("term", `${term}\t${translation}`);
  for (const [sentence, choice] of Object.entries(state.choices)) query.append("choice", `${sentence}\t${choice}`);
  if (state.text) query.set("text", state.text);
  const written = query.toString();
  return `#/${state.view}${written ? "?" + written : ""}`;
}

/** Parse a fragment; missing or unknown parts have the values of an empty state. */
export function fromFragment(fragment) {
  const [path, ...rest] = fragment.replace(/^#\/?/, "").split("?");
  const query = new URLSearchParams(rest.join("?"));
  const pairs = (name) => query.getAll(name).map((pair) => pair.split("\t")).filter((pair) => pair.length === 2);
  return {
    view: VIEWS.includes(path) ? path : EMPTY.view,
    source: query.get("from") ?? EMPTY.source,
    target: query.get("to") ?? EMPTY.target,
    text: query.get("text") ?? EMPTY.text,
    format: query.get("format") === "html" ? "html" : EMPTY.format,
    glossary: pairs("term"),
    choices: Object.fromEntries(pairs("choice")),
  };
}
