// Chooses what the lobby says about wait, odds, baskets, prices and the time until the draw, as
// keys and values of the lobby's texts. This is pure code that needs no page. pages/lobby.html
// chooses the words for the odds in the same way. Tests check both with tests/lobby-cases.json.

import { drawn } from "./lobby-state.js";

const ODDS = [
  [0.95, "nearly_sure"],
  [0.7, "likely"],
  [0.4, "even"],
  [0.15, "unlikely"],
  [0.01, "slim"],
  [0, "none"],
];

/**
 * Returns the key of the words for a chance from 0 to 1, and the chance in whole percent. Returns
 * null if there is no estimate.
 */
export function oddsWords(odds) {
  if (typeof odds !== "number" || !Number.isFinite(odds)) return null;
  const [, key] = ODDS.find(([least]) => odds >= least) ?? ODDS.at(-1);
  // Nothing is certain, so the percent is never 100.
  return { key, pct: Math.min(99, Math.round(odds * 100)) };
}

/**
 * Returns the wait that is left as `{ p50, p90 }` in seconds, or null if it is not known. It is
 * read off the points `[ahead, p50, p90]` of the newest line frame, and between them interpolated.
 * Before the first frame it is the wait that came with the place.
 */
export function waitLeft(waits, { ahead, wait }) {
  if (!waits || typeof ahead !== "number") return wait?.known ? { p50: wait.p50_s, p90: wait.p90_s } : null;
  const { points, few_seats_from, unknown } = waits;
  if (unknown || ahead >= few_seats_from) return null;
  // The first point has nobody ahead. After the last one the wait goes on as before it.
  const b = points.find(([people]) => people > ahead) ?? points.at(-1);
  const a = points[points.indexOf(b) - 1] ?? b;
  const at = (i) => a[i] + ((b[i] - a[i]) * (ahead - a[0])) / (b[0] - a[0] || 1);
  return { p50: at(1), p90: at(2) };
}

/**
 * Returns what to say about seats in baskets, as a key and its count, or null if there is nothing
 * to say.
 */
export function basketWords(seats) {
  if (!seats) return null;
  if (seats.free === 0 && seats.held > 0) {
    if (typeof seats.baskets_5m !== "number") return { key: "all_in_baskets" };
    return seats.baskets_5m > 0 ? { key: "all_in_baskets_some", n: seats.baskets_5m } : { key: "all_in_baskets_none" };
  }
  return seats.lapsing_5m > 0 ? { key: "lapsing", n: seats.lapsing_5m } : null;
}

/**
 * Returns how many places were issued: the larger of the room's and the line frame's count. For a
 * frame without `joined`, the count is the released and the waiting places together.
 */
export const placesGiven = (room, line) => Math.max(room.joined ?? 0, line.joined ?? (line.released ?? 0) + (line.waiting ?? 0));

/**
 * Returns the prices with the free seats of a `line` frame. Its `left` has one number for each
 * price.
 */
export function withSeatsLeft(prices, left) {
  if (!prices || left?.length !== prices.length) return prices;
  return prices.map((tier, i) => ({ ...tier, free: left[i] }));
}

/** Returns the labels of the tiers that had free seats in `before` and have none in `after`. */
export const newlyGone = (before, after) => (after ?? []).filter((tier) => tier.free === 0 && before?.some((old) => old.label === tier.label && old.currency === tier.currency && old.free > 0)).map((tier) => tier.label);

/**
 * Longer countdowns are not shown, because so many days would only worry people. The date is on the
 * page.
 */
const DAYS_MAX = 99;

/**
 * Returns what the lobby counts down to at `nowMs`, as `{ what, at }`: `opens`, `draw` or `sale`
 * (in a room without a draw), and the time in milliseconds. Returns null if nothing is ahead.
 */
export function countdownTarget(room, nowMs) {
  const opens = room.phase === "scheduled";
  if (!opens && room.phase !== "prequeue") return null;
  const at = Date.parse((opens ? room.opens_at : room.draw_waits_until) ?? room.draw_at);
  if (!(at > nowMs) || at - nowMs > DAYS_MAX * 86_400_000) return null;
  return { what: opens ? "opens" : drawn(room) ? "draw" : "sale", at };
}

/** Splits milliseconds into `{ days, clock }`, the clock as `1:02:03` or `02:03`. */
export function countdownParts(leftMs) {
  const s = Math.max(0, Math.ceil(leftMs / 1000));
  const [days, h, m] = [Math.floor(s / 86_400), Math.floor((s % 86_400) / 3600), Math.floor((s % 3600) / 60)];
  const two = (n) => String(n).padStart(2, "0");
  return { days, clock: h || days ? `${h}:${two(m)}:${two(s % 60)}` : `${two(m)}:${two(s % 60)}` };
}
