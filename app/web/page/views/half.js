/** Attention weights as the API sends them: base64 of little-endian float16. */

const VALUES = new Float32Array(1 << 16);
for (let bits = 0; bits < 1 << 16; bits += 1) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size = exponent === 31 ? (fraction ? NaN : Infinity)
    : exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  VALUES[bits] = bits >> 15 ? -size : size;
}

/** base64 → Float32Array. */
export function decodeHalf(base64) {
  const bytes = atob(base64);
  const values = new Float32Array(bytes.length / 2);
  for (let i = 0; i < values.length; i += 1) {
    values[i] = VALUES[bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8)];
  }
  return values;
}
