// Decides which state the lobby shows for a room and a place. This is pure code that needs no page.
// pages/lobby.html decides the same for browsers without scripts. Tests check both with
// tests/lobby-cases.json.

/** Returns whether the room has a draw. Without a draw the order is the order of arrival. */
export const drawn = (room) => Boolean(room.commitment) && (room.method ?? "draw") === "draw";

/**
 * Returns whether the time in which a called visitor is expected to go in is over at `nowMs`. The
 * server then names no time any more. Without a line there never was such a time.
 */
const isLate = (room, place, nowMs) => room.method !== "open" && !(Date.parse(place.claim_before) > nowMs);

/** Returns the state at `nowMs` by the server's clock, a key of `lobby.state` in the texts. */
export function lobbyState(room, place, nowMs) {
  const before = room.phase === "scheduled" || room.phase === "prequeue";
  if (!place) {
    if (room.phase === "closed") return "closed";
    if (room.closed_for_check) return "join_check";
    return before && !drawn(room) ? `join_${room.phase}_line` : `join_${room.phase}`;
  }
  if (place.state === "done") return "done";
  if (place.state === "closed" || room.phase === "closed") return "closed";
  if (place.state === "admitted") return "admitted";
  if (room.closed_for_check) return "place_check";
  if (place.state === "called") return room.paused ? "called_paused" : place.pass_ended ? "called_again" : isLate(room, place, nowMs) ? "called_late" : "called";
  if (before) return drawn(room) ? "waiting_prequeue" : "waiting_line";
  if (room.phase === "drawing") return "waiting_drawing";
  if (room.phase === "sold_out") return "waiting_sold_out";
  return room.paused ? "waiting_paused" : "waiting_selling";
}

/** Returns whether the visitor may go in. */
export const isTurn = (state) => ["called", "called_again", "called_late"].includes(state);

/** Returns whether no seats are left although the visitor may go in or is in. */
export const isNoneLeft = (room, state) => room.phase === "sold_out" && (isTurn(state) || state === "admitted");

/**
 * Estimates how many people are waiting between the release counter and a turn, the rank whose
 * release calls the visitor. Returns null without a turn or a counter. `told` is the server's last
 * count, `{ ahead, gap }`: `ahead` people were waiting in the `gap` ranks in between. The estimate
 * assumes the same share for the ranks that are in between now.
 */
export function aheadOf(turn, released, told) {
  if (typeof turn !== "number" || typeof released !== "number") return null;
  const gap = Math.max(0, turn - released);
  if (!(told?.gap > 0) || typeof told.ahead !== "number") return gap;
  return Math.min(gap, Math.round(told.ahead * Math.min(1, gap / told.gap)));
}

/**
 * Returns how long (milliseconds) a page without a place waits before it fetches the room again.
 * The wait is about 15 s, or shorter if the room opens or draws sooner. `random` lies between 0 and
 * 1. It keeps pages from fetching at the same moment.
 */
export function roomFetchMs(room, now_ms, random) {
  const ahead = [room.opens_at, room.draw_at].map((at) => Date.parse(at) - now_ms).filter((ms) => ms > 0);
  const wait = Math.min(15_000, ...ahead);
  return Math.max(1_500, wait) * (0.8 + 0.4 * random);
}
