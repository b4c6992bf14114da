// Loads the parts of the lobby that not every visitor needs, when they are needed. These are the
// links to own baskets and orders, the move of a place to another device and what follows from it,
// the wishes for seats, what is said to a visitor whose pass ends because nobody does anything, and
// what screen readers say of the position.

import { $, data, kept, keptNames, loadLaterTexts } from "./core.js";

/** A deadline that is at most this far away is shown as a countdown. */
const SOON_MS = 3_600_000;

/**
 * `lobby` has `base` (the path of the room's calls), `slug`, `now` (what the page shows, and as
 * `idle` a new frame), `update(change)` (shows a change of `now`), `refresh()` (fetches the place),
 * `claim(button, again)` (claims the pass), `chime()` (plays the sound of a turn, if it is on), and
 * `arrived(answer)`, which is called when a place was brought here.
 *
 * A part that cannot be loaded is left out. The page works without it, and tries to load it again
 * the next time.
 *
 * Returns a function that the page calls after each change.
 */
export function wireParts(lobby) {
  const part = (load, run) => () => load().then(async (module) => (await loadLaterTexts()) && run(module)).catch(() => {});
  const own = part(() => import("./lobby-own.js"), ({ renderOwn }) => renderOwn(data.shows, lobby.slug));
  const move = part(() => import("./lobby-move.js"), ({ wireMove }) => wireMove(lobby));
  const wish = part(() => import("./lobby-wish.js"), ({ renderWish }) => renderWish(lobby));
  const shared = part(() => import("./lobby-shared.js"), ({ keepWhole }) => keepWhole(lobby));
  const deadlines = part(() => import("./lobby-deadlines.js"), ({ renderDeadlines }) => renderDeadlines(lobby));
  const still = part(() => import("./lobby-still.js"), ({ renderStill }) => renderStill(lobby));
  const position = part(() => import("./lobby-position.js"), ({ tellPosition }) => tellPosition(lobby.now));
  const back = part(() => import("./lobby-way-back.js"), ({ wayBack }) => wayBack($("go-seats"), lobby.slug));
  const arrive = () => location.hash.startsWith("#move=") && move();
  addEventListener("pageshow", () => ["hold.", "order."].some((prefix) => keptNames(prefix).length) && own());
  addEventListener("hashchange", arrive);
  $("move-box").addEventListener("toggle", () => $("move-box").open && move());
  arrive();
  if (kept.get(`wanted.${lobby.slug}`)) back();
  // Only the server's answer about the place contains its wishes. This answer also sets
  // `wait_ahead`.
  return () => {
    const { idle, line, place, room } = lobby.now;
    if (line && place) position();
    if (idle || place?.pass_ended || $("pass-ended")) still();
    if (place?.state === "called" || Date.parse(room.closes_at) - Date.now() < SOON_MS) deadlines();
    if ($("wish") || place?.wait_ahead !== undefined) wish();
    const { link, arrived } = kept.get(`room.${lobby.slug}`) ?? {};
    if (place?.state === "admitted" || link || arrived) shared();
  };
}
