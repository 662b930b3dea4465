/** Creates elements, without a framework and without markup in strings. */

const SVG = "http://www.w3.org/2000/svg";

/** The element with an id. */
export const byId = (id) => document.getElementById(id);

function furnish(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name in node && !(node instanceof SVGElement) && name !== "list") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return node;
}

/** An HTML element: `el("p", {className: "quiet"}, "text", child)`. */
export function el(tag, properties, ...children) {
  return furnish(document.createElement(tag), properties, children);
}

/** An SVG element. */
export function svg(tag, properties, ...children) {
  return furnish(document.createElementNS(SVG, tag), properties, children);
}

/** An icon of 20 × 20, drawn in lines. */
export function icon(path) {
  return svg("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, svg("path", { d: path }));
}

/** Show a short message for a while. `action` is [label, function]. */
export function toast(message, action) {
  const place = byId("toast");
  place.replaceChildren(message);
  if (action) {
    const [label, run] = action;
    const button = el("button", { type: "button", className: "plain", onclick: () => { place.classList.remove("on"); run(); } }, label);
    place.append(button);
  }
  place.classList.add("on");
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => place.classList.remove("on"), 5000);
}

/** Announce a message to assistive technology. */
export function announce(message) {
  byId("announce").textContent = message;
}

/** Offer generated data as a download. */
export function download(name, parts, type) {
  const address = URL.createObjectURL(parts instanceof Blob ? parts : new Blob([parts], { type }));
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Copy to the clipboard, also without a secure context. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { value: text, className: "hidden" });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** A group of radio buttons: choices are [value, label]. */
export function segmented(name, label, choices, chosen, onchange) {
  return el("div", { className: "segmented", role: "radiogroup", ariaLabel: label },
    choices.map(([value, text]) =>
      el("label", {},
        el("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value) }),
        el("span", {}, text))));
}

/** A drop-down list with its label: options are [value, label]. */
export function picker(id, label, options, chosen, onchange) {
  const select = el("select", { id, onchange: () => onchange(select.value) },
    options.map(([value, text]) => el("option", { value }, text)));
  select.value = String(chosen);
  return el("span", { className: "picker" }, el("label", { htmlFor: id }, label), select);
}
