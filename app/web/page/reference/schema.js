/** JSON schemas in short form. */

/** The schema that a reference names. */
export function withoutRefs(schema, document_) {
  if (!schema?.$ref) return schema ?? {};
  return schema.$ref.replace(/^#\//, "").split("/").reduce((at, part) => at?.[part], document_) ?? {};
}

/** The name of a schema. */
export function nameOf(schema) {
  return schema?.$ref?.split("/").pop() ?? schema?.title ?? schema?.type ?? "any";
}

/** A type in words, such as `string or list of string`. */
export function shownType(schema, document_) {
  if (!schema) return "any";
  if (schema.$ref) {
    const { enum: values } = withoutRefs(schema, document_);
    return values ? values.map((value) => JSON.stringify(value)).join(" or ") : nameOf(schema);
  }
  if (schema.anyOf ?? schema.oneOf) return (schema.anyOf ?? schema.oneOf).filter(({ type }) => type !== "null").map((one) => shownType(one, document_)).join(" or ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.type === "array") return schema.prefixItems ? `[${schema.prefixItems.map((one) => shownType(one, document_)).join(", ")}]` : `list of ${shownType(schema.items, document_)}`;
  const bounds = [["minimum", "≥"], ["exclusiveMinimum", ">"], ["maximum", "≤"], ["exclusiveMaximum", "<"]].filter(([key]) => key in schema).map(([key, sign]) => `${sign} ${schema[key]}`);
  return [schema.type ?? "any", ...bounds].join(" ");
}
