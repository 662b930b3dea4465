/** Conversion of offsets: the API counts code points, JavaScript UTF-16 units. */

/** units[i] is the offset of code point i; the last is the text's length. */
export function unitOffsets(text) {
  const units = [];
  let at = 0;
  for (const character of text) {
    units.push(at);
    at += character.length;
  }
  units.push(at);
  return units;
}

/** The number of code points. */
export function length(text) {
  let n = 0;
  for (const _ of text) n += 1;
  return n;
}
