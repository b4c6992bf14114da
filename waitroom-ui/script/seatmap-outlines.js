// The outlines of a plan's sections. If the plan has no outline for a section, one is made from the
// section's rows. It goes along the first row, down the ends of the rows, along the last row and up
// again. So it follows curved rows, too. This is pure code that needs no page.

const SAMPLE_ROWS = 8; // At most this many rows are used to check whether an outline fits.

/**
 * Returns `[{section, points, pad}]`: the index of the section, the corners, and how far the
 * outline is widened on all sides, in the plan's units.
 */
export function outlinesOf(g, plan) {
  const given = new Map(plan.outlines.map(({ section, points }) => [plan.sections[section], points]));
  return g.sections.map((section, k) => {
    const points = given.get(section.name);
    if (points?.length > 2) return { section: k, points, pad: 0 };
    return { section: k, points: around(g, section), pad: g.spacing * 1.15 };
  });
}

function around(g, section) {
  const at = (i) => [g.x[i], g.y[i]];
  const rows = alignedRows(g, section.rows);
  if (rows.length === 1) return Array.from(rows[0], at);
  const middle = rows.slice(1, -1);
  const stacked = [...rows[0], ...middle.map((row) => row.at(-1)), ...rows.at(-1).toReversed(), ...middle.map((row) => row[0]).toReversed()].map(at);
  // If the rows are not one behind the other, this line leaves out seats. Then the hull is used.
  const every = Math.ceil(middle.length / SAMPLE_ROWS);
  const inner = middle.filter((row, k) => row.length > 2 && k % every === 0).map((row) => row[row.length >> 1]);
  const good = inner.filter((i) => contains(stacked, g.x[i], g.y[i])).length >= 0.8 * inner.length;
  return good ? stacked : convexHull(Array.from(section.seats, at));
}

/** Turns rows around where needed, so that all of them run in the same direction. */
function alignedRows(g, rows) {
  let before = null;
  return rows.map(({ seats }) => {
    const from = (a, b) => Math.hypot(g.x[a] - g.x[b], g.y[a] - g.y[b]);
    const turn = before && from(before[0], seats[0]) + from(before.at(-1), seats.at(-1)) > from(before[0], seats.at(-1)) + from(before.at(-1), seats[0]);
    return (before = turn ? seats.toReversed() : seats);
  });
}

/** Returns the smallest convex shape around points, by Andrew's monotone chain. */
export function convexHull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const chain = (list) => {
    const kept = [];
    for (const p of list) {
      while (kept.length > 1 && cross(kept.at(-2), kept.at(-1), p) <= 0) kept.pop();
      kept.push(p);
    }
    return kept.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...chain(sorted), ...chain(sorted.toReversed())];
}

const cross = ([ox, oy], [ax, ay], [bx, by]) => (ax - ox) * (by - oy) - (ay - oy) * (bx - ox);

/**
 * Returns the index of the section whose outline contains a point of the plan or, if none does,
 * whose box is within `reach` of the point. Returns -1 if there is none.
 */
export function sectionAt(g, x, y, reach) {
  const outline = g.outlines.find(({ points }) => contains(points, x, y));
  if (outline) return outline.section;
  const isNear = ({ box }) => x > box.left - reach && x < box.right + reach && y > box.top - reach && y < box.bottom + reach;
  return g.sections.findIndex(isNear);
}

/**
 * Returns whether a point is inside a closed line: a ray from it crosses the line an odd number of
 * times.
 */
export function contains(points, x, y) {
  let inside = false;
  for (let k = 0, before = points.length - 1; k < points.length; before = k++) {
    const [ax, ay] = points[k];
    const [bx, by] = points[before];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

/**
 * Returns whether a side of a closed line, widened by `pad`, may cross a box. Each side counts as
 * the box around it, so the answer may be true for a side that only comes near.
 */
export function crosses(points, { left, top, right, bottom }, pad) {
  for (let k = 0, before = points.length - 1; k < points.length; before = k++) {
    const [ax, ay] = points[k];
    const [bx, by] = points[before];
    if (Math.max(ax, bx) + pad > left && Math.min(ax, bx) - pad < right && Math.max(ay, by) + pad > top && Math.min(ay, by) - pad < bottom) return true;
  }
  return false;
}
