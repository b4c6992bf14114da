// What the lobby says of wait, odds and baskets, as keys and values of its texts. Pure;
// pages/lobby.html chooses the words of the odds in the same way, and tests/lobby-cases.json holds
// both to it.

const FRESH_S = 120; // A wait that was told longer ago than this is worked out from the pace instead.

const ODDS = [
  [0.95, "nearly_sure"],
  [0.7, "likely"],
  [0.4, "even"],
  [0.15, "unlikely"],
  [0.01, "slim"],
  [0, "none"],
];

/**
 * Which words a chance between 0 and 1 has, and its whole percent; null where it is not estimated.
 */
export function oddsWords(odds) {
  if (typeof odds !== "number" || !Number.isFinite(odds)) return null;
  const [, key] = ODDS.find(([least]) => odds >= least) ?? ODDS.at(-1);
  // Nothing is certain, so it never says 100.
  return { key, pct: Math.min(99, Math.round(odds * 100)) };
}

/**
 * What is left of the wait that was told `passedS` seconds ago: `{ p50, p90 }` in seconds, for as
 * many as are still ahead of those it was told for; `{ about }` by the present pace; or null where
 * nothing is known.
 */
export function waitLeft(room, place, passedS) {
  const { wait } = place;
  if (wait?.known && typeof wait.p50_s === "number" && passedS < FRESH_S) {
    const left = (s) => (place.wait_ahead > 0 ? (s * place.ahead) / place.wait_ahead : Math.max(0, s - passedS));
    return { p50: left(wait.p50_s), p90: left(wait.p90_s ?? wait.p50_s) };
  }
  if (room.phase === "selling" && room.per_s > 0 && typeof place.ahead === "number") return { about: place.ahead / room.per_s };
  return null;
}

/**
 * What there is to say of seats in baskets, as a key and its count; null where there is nothing.
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
 * How many places were given, by the newest that is known: a line frame counts those who stand in
 * it, too.
 */
export const placesGiven = (room, line) => Math.max(room.joined ?? 0, line.joined ?? (line.released ?? 0) + (line.waiting ?? 0));
