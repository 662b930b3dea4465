/** Equation 1 with the numbers of one token in one head. */

import { el } from "../frame/dom.js";
import { number, t } from "../frame/strings.js";
import { label } from "./tokens.js";
import { strip } from "./vectors.js";

const largest = (vectors) => Math.max(...vectors.flat().map(Math.abs));

/** The table for the `attention` of an answer of POST /explain. */
export function productsTable(attention) {
  const { columns, query, output, d_k: width } = attention;
  const keys = largest([query, ...columns.map(({ key }) => key)]);
  const values = largest(columns.map(({ value }) => value));
  const bar = (weight) => {
    const mark = el("span", { className: "bar-mark" });
    mark.style.width = `${100 * weight}%`;
    return el("span", { className: "bar-frame" }, mark);
  };
  const heads = [t("step.token"), "k", "q·k", `÷ √${width}`, t("step.mask"), t("step.weight"), "v", t("step.weighted")];
  /** Add the column's name to a cell, for narrow screens, where rows become cards. */
  const named = (cell, index) => { cell.dataset.label = heads[index + 1]; return cell; };
  const row = ({ piece, key, value, product, scaled, seen, weight }) => el("tr", { className: seen ? "" : "unseen" },
    el("th", { scope: "row" }, label(piece)),
    ...[el("td", {}, strip(key, keys, `k: ${label(piece)}`)),
    el("td", { className: "n" }, number(product, 2)),
    el("td", { className: "n" }, number(scaled, 2)),
    el("td", { className: "n" }, seen ? t("step.seen") : "−∞"),
    el("td", { className: "n weight", data: { weight } }, number(weight, 4), bar(weight)),
    el("td", {}, strip(value, values, `v: ${label(piece)}`)),
    el("td", {}, strip(value.map((x) => x * weight), values, `${t("step.weighted")}: ${label(piece)}`))].map(named));
  return el("div", { className: "scroller", tabIndex: 0, role: "region", ariaLabel: t("step.title") }, el("table", { className: "products" },
    el("caption", {}, el("span", { className: "vector" }, t("step.query", { token: label(attention.piece) }), strip(query, keys, "q"))),
    el("thead", {}, el("tr", {}, heads.map((text, i) => el("th", { scope: "col", className: i > 1 && i < 6 ? "n" : "" }, text)))),
    el("tbody", {}, columns.map(row)),
    el("tfoot", {}, el("tr", {}, el("th", { colSpan: 7, scope: "row" }, t("step.sum")), el("td", {}, strip(output, values, t("step.sum")))))));
}
