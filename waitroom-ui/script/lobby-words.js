// Chooses what the lobby says about wait, odds and baskets, as keys and values of the lobby's
// texts. This is pure code that needs no page. pages/lobby.html chooses the words for the odds in
// the same way. Tests check both with tests/lobby-cases.json.

const FRESH_S = 120; // After this time the server's wait is too old, and the wait is computed from the pace.

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
 * Returns what is left of the wait that the server sent `passedS` seconds ago. While that wait is
 * fresh: `{ p50, p90 }` in seconds, scaled by how many of the people ahead are still ahead. Else
 * `{ about }`, computed from the current pace, or null if nothing is known.
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
