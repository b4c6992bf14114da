// Which of the lobby's states a room and a place are in. Pure; pages/lobby.html decides the same
// for browsers without scripts, and tests/lobby-cases.json holds both to it.

/** Whether the room has a draw; without one, places go by arrival. */
export const drawn = (room) => Boolean(room.commitment) && (room.method ?? "draw") === "draw";

/** A key of the texts' `lobby.state`. */
export function lobbyState(room, place) {
  const before = room.phase === "scheduled" || room.phase === "prequeue";
  if (!place) {
    if (room.phase === "closed") return "closed";
    return before && !drawn(room) ? `join_${room.phase}_line` : `join_${room.phase}`;
  }
  if (place.state === "done") return "done";
  if (place.state === "closed" || room.phase === "closed") return "closed";
  if (place.state === "admitted") return "admitted";
  if (place.state === "called") return room.paused ? "called_paused" : "called";
  if (before) return drawn(room) ? "waiting_prequeue" : "waiting_line";
  if (room.phase === "drawing") return "waiting_drawing";
  if (room.phase === "sold_out") return "waiting_sold_out";
  return room.paused ? "waiting_paused" : "waiting_selling";
}

/**
 * How many people stand between a rank and the release counter, or null while there is no rank.
 * `told` is what the server counted last, `{ ahead, gap }`: of the ranks in that gap so many had
 * people in them, the others were left or empty.
 */
export function aheadOf(rank, released, told) {
  if (typeof rank !== "number" || typeof released !== "number") return null;
  const gap = Math.max(0, rank - released);
  if (!told || !(told.gap > 0) || typeof told.ahead !== "number") return gap;
  return Math.min(gap, Math.round(told.ahead * Math.min(1, gap / told.gap)));
}
