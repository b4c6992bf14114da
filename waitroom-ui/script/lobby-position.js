// Tells screen readers the visitor's position in the line.

import { announce, t } from "./core.js";
import { lobbyState } from "./lobby-state.js";
import { basketsSaid, oddsSaid, waitWords } from "./lobby-view.js";

/** The words that were announced last. */
let told = null;

/**
 * Announces the position and the wait of a visitor who waits, if the words for them have changed.
 * The argument is what the page shows.
 */
export function tellPosition({ room, place, line, skewMs }) {
  const state = lobbyState(room, place, Date.now() + skewMs);
  if (state !== "waiting_selling" || typeof place.ahead !== "number") return;
  const words = positionWords(room, place, line);
  if (words !== told) announce(words);
  told = words;
}

function positionWords(room, place, line) {
  const odds = oddsSaid(place);
  const wait = `${t("lobby.wait")}: ${waitWords(room, place, line)}.`;
  const parts = [t("lobby.say_ahead", { n: place.ahead }), wait, odds && t("lobby.say_odds", { odds }), line.seats?.free === 0 && basketsSaid(line.seats)];
  return parts.filter(Boolean).join(" ");
}
