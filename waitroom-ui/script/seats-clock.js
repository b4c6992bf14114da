// The clock before a hold: how long the visitor's pass still lets them choose seats. Passes of
// rooms without a line are renewed by the page itself, so they have no clock.

import { $, kept, show, t } from "./core.js";
import { Countdown } from "./countdown.js";
import { isOpen } from "./entry.js";
import { skewOf } from "./skew.js";

/** The clock that is shown, or null. */
let clock = null;

/**
 * Shows the clock, if this browser claimed the pass in the room's lobby. `room` is the room's
 * document. `answer` is a promise of an answer whose `Date` header tells the server's time.
 */
export async function showChoiceTime(room, answer) {
  if (!room || isOpen(room)) return;
  const { headers } = await answer;
  // Meanwhile the pass may have ended, and is forgotten then.
  const until = kept.get(`room.${room.room}`)?.pass_until;
  const skew = skewOf(headers?.get("date"));
  if (!until || !(Date.parse(until) - skew > Date.now())) return;
  show($("choose-time"), true);
  clock = new Countdown($("choose-clock"), sayOver, (time) => t("seats.choose_time", { time }));
  clock.start(until, skew);
}

const sayOver = () => ($("choose-time").textContent = t("seats.choose_over"));

/** Ends the clock and what was said of the turn, because the pass has ended before its time. */
export function endChoiceTime() {
  show($("lapse-again"), false);
  if (!clock) return;
  clock.stop();
  sayOver();
}
