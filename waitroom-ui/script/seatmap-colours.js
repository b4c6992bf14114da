// Readable colours for the seat map. Computes contrast as WCAG 2.2 does. Darkens or lightens a
// colour until it stands out from the colours under it. This is pure code that needs no page.

const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const hexOf = (values) => `#${values.map((v) => Math.round(v).toString(16).padStart(2, "0")).join("")}`;

/** Returns the relative luminance of a colour like `#0072b2`. */
export function luminance(hex) {
  const [r, g, b] = parts(hex).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Returns the contrast of two colours, from 1 to 21. */
export function contrast(one, other) {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** Returns a colour between two. A `share` of 0 gives the first colour, and 1 the second. */
export function mix(one, other, share) {
  const to = parts(other);
  return hexOf(parts(one).map((v, k) => v + (to[k] - v) * share));
}

/**
 * Returns the colour, moved toward black or white only as far as needed, so that its contrast with
 * every one of `grounds` is at least `least`.
 */
export function readable(colour, grounds, least = 3) {
  const end = luminance(grounds[0]) > 0.18 ? "#000000" : "#ffffff";
  for (let share = 0; share < 1; share += 0.04) {
    const tried = mix(colour, end, share);
    if (grounds.every((ground) => contrast(tried, ground) >= least)) return tried;
  }
  return end;
}

/** Returns black or white, the one that is easier to read on a colour. */
export const inkOn = (colour) => (contrast(colour, "#000000") >= contrast(colour, "#ffffff") ? "#000000" : "#ffffff");
