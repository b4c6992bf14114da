// A show's seat map in the form that the page uses: positions as typed arrays, the seats of each
// section, row and area, the usual distance between seats, and a grid of cells that finds the seats
// near a point quickly. This is pure code that needs no page.

import { convexHull, outlinesOf } from "./seatmap-outlines.js";
import { shapesOf } from "./seatmap-shapes.js";

const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a6d1f", "#6a51a3"];
const CELLS_MAX = 1024; // In each direction of the grid.
const TRAITS = [["accessible", 1], ["companion", 2], ["restricted_view", 4]];

/**
 * Takes a decoded seat map (`seatmap-binary.js`) and the show's `categories`, which have the
 * prices. `kind` is "train" or "hall" for plans that are drawn as such.
 */
export function readGeometry(plan, categories, kind) {
  const g = {
    ...plan,
    areas: plan.areas.map((area) => ({ ...area, end: area.first + area.capacity })),
    inArea: new Uint8Array(plan.count),
    runOf: new Uint32Array(plan.count),
    category: new Uint16Array(plan.count),
    sectionOf: new Uint16Array(plan.count),
    firsts: [],
    places: null,
    sectionNames: plan.sections,
  };
  g.categories = orderCategories(plan.categories, categories);
  for (const area of g.areas) g.inArea.fill(1, area.first, area.end);
  let at = 0;
  for (const [k, run] of g.runs.entries()) {
    g.firsts.push(at);
    g.runOf.fill(k, at, at + run.n);
    g.category.fill(run.category, at, at + run.n);
    at += run.n;
  }
  g.extents = extentsOf(g);
  g.bounds = boundsOf(g);
  g.spacing = spacingOf(g);
  g.sections = sectionsOf(g);
  const shapes = kind && shapesOf(g, kind);
  Object.assign(g, { under: [], over: [], ...shapes, outlines: shapes?.outlines ?? outlinesOf(g, plan) });
  if (kind) g.bounds = boundsOf(g);
  // The ground on which several sections stand.
  g.venue = !kind && g.outlines.length > 1 ? convexHull(g.outlines.flatMap(({ points }) => points)) : [];
  return g;
}

/** Returns a seat's names and traits: `{label, section, row, number, accessible, …}`. */
export function seatOf(g, i) {
  const run = g.runs[g.runOf[i]];
  const offset = i - g.firsts[g.runOf[i]];
  const number = run.numbers ? run.numbers[offset] : String(run.from + offset);
  const seat = { label: run.prefix + number, section: g.sectionNames[run.section] ?? null, row: g.rows[run.row]?.label ?? null, number };
  for (const [name, bit] of TRAITS) seat[name] = (g.flags[i] & bit) !== 0;
  return seat;
}

export const isAccessible = (g, i) => (g.flags[i] & 1) !== 0;

/** Returns the index of the seat with this label, or undefined. The first call builds the table. */
export function indexOf(g, label) {
  g.places ??= new Map(Array.from({ length: g.count }, (_, i) => [seatOf(g, i).label, i]));
  return g.places.get(label);
}

/**
 * Returns the categories of the plan, and those that only have a price. Each has its price if it is
 * known, and the plan's colour or one of the palette.
 */
function orderCategories(drawn, priced) {
  const prices = new Map((priced ?? []).map((category) => [String(category.key), category]));
  const known = new Set(drawn.map((category) => String(category.key)));
  const others = [...prices.keys()].filter((key) => !known.has(key)).map((key) => ({ key, label: key }));
  const all = [...drawn.map((category) => ({ ...category, key: String(category.key) })), ...others];
  if (!all.length) all.push({ key: "", label: "" });
  const colour = (given, i) => (/^#[0-9a-f]{6}$/i.test(given ?? "") ? given : PALETTE[i % PALETTE.length]);
  return all.map((category, i) => ({ ...category, ...prices.get(category.key), color: colour(category.color, i) }));
}

function boundsOf(g) {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  const add = (x, y) => widen(box, { left: x, top: y, right: x, bottom: y });
  for (const extent of g.extents) widen(box, extent);
  if (g.focal) add(g.focal.x, g.focal.y);
  for (const area of g.areas) if (area.center) add(area.center.x, area.center.y);
  for (const { points } of [...g.outlines, ...(g.under ?? []), ...(g.stage ? [g.stage] : [])]) for (const [x, y] of points) add(x, y);
  return box.left <= box.right ? box : { left: 0, top: 0, right: 1, bottom: 1 };
}

/**
 * Returns the usual distance from a seat to its nearest neighbour. This is the median over a sample
 * of fewer than 200 seats, spread through the list.
 */
function spacingOf(g) {
  const step = Math.max(1, Math.floor(g.count / 100));
  const found = [];
  for (let k = 0; k < g.count; k += step) {
    if (g.inArea[k]) continue;
    let nearest = Infinity;
    // Neighbours on the plan are near each other in its list, too.
    for (let m = Math.max(0, k - 40); m < Math.min(g.count, k + 40); m++) {
      const square = (g.x[k] - g.x[m]) ** 2 + (g.y[k] - g.y[m]) ** 2;
      if (square > 0 && square < nearest && !g.inArea[m]) nearest = square;
    }
    if (nearest < Infinity) found.push(Math.sqrt(nearest));
  }
  found.sort((a, b) => a - b);
  return found[Math.floor(found.length / 2)] || Math.max(1, (g.bounds.right - g.bounds.left) / 40);
}

/**
 * Sorts the seats into a grid of cells. The seats of cell c are `order[starts[c]]` to
 * `order[starts[c + 1] − 1]`. Cells are numbered row by row, so the cells of one row that touch a
 * box are one stretch of `order`. Only the first call makes the grid, because the first picture of
 * a map does not need it.
 */
export function gridOf(g) {
  return (g.grid ??= makeGrid(g));
}

function makeGrid(g) {
  const { x, y, inArea } = g;
  const { left, top, right, bottom } = g.bounds;
  const size = Math.max(g.spacing * 4, (right - left) / CELLS_MAX, (bottom - top) / CELLS_MAX);
  const [columns, rows] = [Math.floor((right - left) / size) + 1, Math.floor((bottom - top) / size) + 1];
  const cells = new Uint32Array(g.count);
  const starts = new Uint32Array(columns * rows + 1);
  for (let i = 0; i < g.count; i++) {
    cells[i] = (((y[i] - top) / size) | 0) * columns + (((x[i] - left) / size) | 0);
    if (!inArea[i]) starts[cells[i] + 1] += 1;
  }
  for (let c = 1; c < starts.length; c++) starts[c] += starts[c - 1];
  const next = starts.slice();
  const order = new Uint32Array(starts.at(-1));
  for (let i = 0; i < g.count; i++) if (!inArea[i]) order[next[cells[i]]++] = i;
  return { size, columns, rows, starts, order };
}

/**
 * Returns stretches `[start, end]` of the grid's `order`. They contain all seats in a box of the
 * plan, and some seats around the box.
 */
export function stretchesIn(g, left, top, right, bottom) {
  const { size, columns, rows, starts } = gridOf(g);
  const column = (x) => Math.min(columns - 1, Math.max(0, Math.floor((x - g.bounds.left) / size)));
  const row = (y) => Math.min(rows - 1, Math.max(0, Math.floor((y - g.bounds.top) / size)));
  const found = [];
  if (right < g.bounds.left || bottom < g.bounds.top || left > g.bounds.right || top > g.bounds.bottom) return found;
  for (let r = row(top); r <= row(bottom); r++) {
    const [start, end] = [starts[r * columns + column(left)], starts[r * columns + column(right) + 1]];
    if (start < end) found.push([start, end]);
  }
  return found;
}

/** Returns the seat nearest to a point of the plan within `reach`, or -1. */
export function seatAt(g, x, y, reach) {
  let [best, bestAt] = [reach, -1];
  for (const [start, end] of stretchesIn(g, x - reach, y - reach, x + reach, y + reach)) {
    for (let k = start; k < end; k++) {
      const i = gridOf(g).order[k];
      const d = Math.hypot(g.x[i] - x, g.y[i] - y);
      if (d < best) [best, bestAt] = [d, i];
    }
  }
  return bestAt;
}

/**
 * Returns the seat to which an arrow key moves from `from`, or -1 if there is none. A seat straight
 * ahead is preferred to one at the side.
 */
export function neighbour(g, from, dx, dy) {
  let [best, bestAt] = [Infinity, -1];
  for (let i = 0; i < g.count; i++) {
    if (i === from || g.inArea[i]) continue;
    const [ax, ay] = [g.x[i] - g.x[from], g.y[i] - g.y[from]];
    const ahead = ax * dx + ay * dy;
    const aside = Math.abs(ax * dy) + Math.abs(ay * dx);
    if (ahead <= g.spacing * 0.2 || aside > ahead * 2) continue;
    const cost = ahead + 2 * aside;
    if (cost < best) [best, bestAt] = [cost, i];
  }
  return bestAt;
}

/**
 * Groups seats by section and row, in the plan's order. Returns `[{name, cx, cy, box, category,
 * seats, rows: [{label, seats}]}]`. `category` is the category of at least 80 % of the section's
 * seats, or -1. Seats of areas are left out.
 */
function sectionsOf(g) {
  const allSeats = new Uint32Array(g.count);
  for (let i = 0; i < g.count; i++) allSeats[i] = i;
  const sections = new Map();
  for (const [k, run] of g.runs.entries()) {
    const first = g.firsts[k];
    if (g.inArea[first]) continue;
    const name = g.sectionNames[run.section] ?? "";
    const label = g.rows[run.row]?.label ?? "";
    if (!sections.has(name)) sections.set(name, { name, index: sections.size, runs: [], parts: [], rows: new Map() });
    const section = sections.get(name);
    section.runs.push(k);
    g.sectionOf.fill(section.index, first, first + run.n);
    if (!section.rows.has(label)) section.rows.set(label, { label, parts: [] });
    for (const { parts } of [section, section.rows.get(label)]) parts.push([first, first + run.n]);
  }
  return [...sections.values()].map(({ name, runs, parts, rows }) => {
    const seats = joined(allSeats, parts);
    return { name, seats, rows: [...rows.values()].map((row) => ({ label: row.label, seats: joined(allSeats, row.parts) })), ...extentOf(g, runs, seats.length) };
  });
}

/** Returns the seats of several stretches, without a copy if the stretches follow each other. */
function joined(allSeats, parts) {
  if (parts.every(([first], k) => k === 0 || first === parts[k - 1][1])) return allSeats.subarray(parts[0][0], parts.at(-1)[1]);
  const seats = new Uint32Array(parts.reduce((sum, [first, end]) => sum + end - first, 0));
  let offset = 0;
  for (const [first, end] of parts) {
    seats.set(allSeats.subarray(first, end), offset);
    offset += end - first;
  }
  return seats;
}

/**
 * Returns each run's box and the sums of its seats' positions. The boxes and middles of sections
 * are computed from them.
 */
function extentsOf({ runs, firsts, x, y }) {
  return runs.map(({ n }, k) => {
    const first = firsts[k];
    let left = x[first];
    let right = left;
    let top = y[first];
    let bottom = top;
    let sumX = 0;
    let sumY = 0;
    for (let i = first; i < first + n; i++) {
      const px = x[i];
      const py = y[i];
      sumX += px;
      sumY += py;
      if (px < left) left = px;
      else if (px > right) right = px;
      if (py < top) top = py;
      else if (py > bottom) bottom = py;
    }
    return { left, top, right, bottom, sumX, sumY };
  });
}

/** Returns the box, the middle and the category of a section with these runs. */
function extentOf(g, runs, n) {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  const votes = new Uint32Array(g.categories.length);
  let [sumX, sumY] = [0, 0];
  for (const k of runs) {
    widen(box, g.extents[k]);
    sumX += g.extents[k].sumX;
    sumY += g.extents[k].sumY;
    votes[g.runs[k].category] += g.runs[k].n;
  }
  return { box, cx: sumX / n, cy: sumY / n, category: votes.findIndex((votesOf) => votesOf >= 0.8 * n) };
}

function widen(box, { left, top, right, bottom }) {
  box.left = Math.min(box.left, left);
  box.top = Math.min(box.top, top);
  box.right = Math.max(box.right, right);
  box.bottom = Math.max(box.bottom, bottom);
}
