/** The role of an attention head, from the weights of one sentence. */

/** Mean entropy of the rows, in bits. */
export function entropy(weights, rows, columns) {
  let total = 0;
  for (let i = 0; i < rows * columns; i += 1) if (weights[i] > 0) total -= weights[i] * Math.log2(weights[i]);
  return total / rows;
}

/** The mean weight of one column a row: column(row) names it; rows without one count as 0. */
function share(weights, rows, columns, column) {
  let total = 0;
  for (let row = 0; row < rows; row += 1) {
    const at = column(row);
    if (at >= 0 && at < columns) total += weights[row * columns + at];
  }
  return total / rows;
}

const MOST = 0.4;

/**
 * {name, share}: the place that gets most of the weights, if that is `MOST` of them; else "one" or "spread", by the entropy.
 * Places are previous, same and next within one text, and start and end of the columns' text.
 */
export function roleOf(kind, weights, rows, columns, pieces) {
  const places = { };
  // A decoder's column s holds token s − 1, so that a row's own column has the token before it.
  if (kind === "encoder") Object.assign(places, { previous: (row) => row - 1, same: (row) => row, next: (row) => row + 1 });
  if (kind === "decoder") Object.assign(places, { previous: (row) => row, earlier: (row) => row - 1 });
  if (kind !== "decoder" && pieces[columns - 1] === "</s>") places.end = () => columns - 1;
  places.start = () => 0;
  const shares = Object.entries(places).map(([name, column]) => ({ name, share: share(weights, rows, columns, column) }));
  const most = shares.reduce((best, one) => (one.share > best.share ? one : best));
  if (most.share >= MOST) return most;
  const bits = entropy(weights, rows, columns);
  return { name: bits < 1.2 ? "one" : bits > 0.8 * Math.log2(columns) ? "spread" : "mixed", share: null };
}
