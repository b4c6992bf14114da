// Suggests other seats when somebody else takes chosen ones. This is pure code that needs no page.

import { FREE } from "./frames.js";

/**
 * Neighbours in a row are at most this many usual distances apart. Farther seats have an aisle
 * between them.
 */
const APART_MAX = 1.6;
/** How much farther away a seat of another row may seem than it is. */
const OTHER_ROW = 2;

/**
 * Suggests as many seats as were chosen, with the same categories and traits. `lost` are the chosen
 * seats that somebody took, and `kept` the others. Prefers seats side by side that include the kept
 * ones, and otherwise the free seats nearest to the lost ones. Returns indices, or null if there
 * are none.
 */
export function suggestSeats(g, states, { lost, kept }) {
  const chosen = [...kept, ...lost];
  return sideBySide(g, states, chosen, kept) ?? nearest(g, states, lost, kept);
}

const isLike = (g, a, b) => g.category[a] === g.category[b] && g.flags[a] === g.flags[b];

function centre(g, seats) {
  const mean = (of) => seats.reduce((sum, i) => sum + of[i], 0) / seats.length;
  return { x: mean(g.x), y: mean(g.y) };
}

const distance = (g, i, { x, y }) => Math.hypot(g.x[i] - x, g.y[i] - y);

/** Returns the best seats side by side for people who all wanted seats of one kind, or null. */
function sideBySide(g, states, chosen, kept) {
  if (chosen.length < 2 || !chosen.every((i) => isLike(g, i, chosen[0]))) return null;
  const at = centre(g, chosen);
  const mayTake = (i) => (states[i] === FREE || kept.includes(i)) && !g.inArea[i] && isLike(g, i, chosen[0]);
  let [least, best] = [Infinity, null];
  for (const { rows } of g.sections) {
    for (const { seats } of rows) {
      let from = 0;
      for (let end = 0; end < seats.length; end++) {
        const follows = end > from && distance(g, seats[end], { x: g.x[seats[end - 1]], y: g.y[seats[end - 1]] }) <= APART_MAX * g.spacing;
        if (!mayTake(seats[end])) from = end + 1;
        else if (!follows) from = end;
        if (end - from + 1 < chosen.length) continue;
        const block = [...seats.slice(end - chosen.length + 1, end + 1)];
        const changed = kept.filter((i) => !block.includes(i)).length;
        const cost = distance(g, block[0], at) + distance(g, block.at(-1), at) + changed * 4 * g.spacing;
        if (cost < least) [least, best] = [cost, block];
      }
    }
  }
  return best;
}

/** Returns the kept seats and, for each lost one, the nearest free seat of its kind, or null. */
function nearest(g, states, lost, kept) {
  const taken = new Set(kept);
  for (const gone of lost) {
    const at = { x: g.x[gone], y: g.y[gone] };
    let [least, best] = [Infinity, -1];
    for (let i = 0; i < g.count; i++) {
      if (states[i] !== FREE || taken.has(i) || g.inArea[i] || !isLike(g, i, gone)) continue;
      const isSameRow = g.runs[g.runOf[i]].row === g.runs[g.runOf[gone]].row && g.sectionOf[i] === g.sectionOf[gone];
      const cost = distance(g, i, at) * (isSameRow ? 1 : OTHER_ROW);
      if (cost < least) [least, best] = [cost, i];
    }
    if (best < 0) return null;
    taken.add(best);
  }
  return [...taken];
}
