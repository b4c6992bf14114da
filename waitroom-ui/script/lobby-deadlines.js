// Counts down to the deadlines of the next minutes: until when the visitor is expected to go in,
// and when the room closes.

import { $, make, put, show, t, when } from "./core.js";
import { Countdown } from "./countdown.js";

/** A time that is at most this far away is shown as a countdown. */
const SOON_MS = 3_600_000;

/** The running countdowns, by the id of their element, and the time that each runs down to. */
const clocks = new Map();

/** Lets the element count down to `until`, or shows the time if it is farther away. */
function countDown(element, until, { skewMs, words, far, over }) {
  const left = Date.parse(until) - skewMs - Date.now();
  if (left > SOON_MS) return far();
  if (clocks.get(element.id) === until) return;
  clocks.set(element.id, until);
  const clock = new Countdown(element, over, words);
  clock.start(until, skewMs);
}

/** Shows the deadlines. It is called after each change. `lobby` is that of `wireParts`. */
export function renderDeadlines({ now, update }) {
  const { room, place, skewMs } = now;
  const line = $("claim-before");
  const isAhead = Date.parse(place?.claim_before) - skewMs > Date.now();
  // The time of a call counts for the first turn.
  show(line, place?.state === "called" && isAhead && !place.pass_ended);
  if (!line.hidden) {
    if (!$("claim-clock")) line.replaceChildren(make("span", { id: "claim-clock", role: "timer" }));
    const far = () => put("claim-clock", `${t("lobby.claim_before")} ${when(place.claim_before)}`);
    const words = (time) => t("lobby.claim_left", { time });
    countDown($("claim-clock"), place.claim_before, { skewMs, words, far, over: () => update({}) });
  }
  if ($("closes-at") && room.closes_at && room.phase !== "closed") {
    const words = (time) => t("lobby.closes_left", { time });
    countDown($("closes-at"), room.closes_at, { skewMs, words, far: () => {}, over: () => put("closes-at", when(room.closes_at)) });
  }
}
