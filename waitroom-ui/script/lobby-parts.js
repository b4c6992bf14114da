// Loads the parts of the lobby that not every visitor needs, when they are needed. These are the
// links to own baskets and orders, the move of a place to another device and what follows from it,
// and the wishes for seats.

import { $, data, kept, keptNames, loadLaterTexts } from "./core.js";

/** A deadline that is at most this far away is shown as a countdown. */
const SOON_MS = 3_600_000;

/**
 * `lobby` has `base` (the path of the room's calls), `slug`, `now` (what the page shows),
 * `update(change)` (shows a change of `now`), `refresh()` (fetches the place), `claim(button,
 * again)` (claims the pass), and `arrived(answer)`, which is called when a place was brought here.
 *
 * A part that cannot be loaded is left out. The page works without it, and tries to load it again
 * the next time.
 *
 * Returns a function that the page calls after each change.
 */
export function wireParts(lobby) {
  const own = async () => {
    if (!["hold.", "order."].some((prefix) => keptNames(prefix).length)) return;
    const { renderOwn } = await import("./lobby-own.js");
    if (await loadLaterTexts()) renderOwn(data.shows, lobby.slug);
  };
  const move = async () => {
    const { wireMove } = await import("./lobby-move.js");
    if (await loadLaterTexts()) wireMove(lobby);
  };
  const wish = async () => {
    const { renderWish } = await import("./lobby-wish.js");
    if (await loadLaterTexts()) renderWish(lobby);
  };
  const shared = async () => {
    const { keepWhole } = await import("./lobby-shared.js");
    if (await loadLaterTexts()) await keepWhole(lobby);
  };
  const deadlines = async () => {
    const { renderDeadlines } = await import("./lobby-deadlines.js");
    if (await loadLaterTexts()) renderDeadlines(lobby);
  };
  const back = async () => {
    const { wayBack } = await import("./lobby-way-back.js");
    if (await loadLaterTexts()) wayBack($("go-seats"), lobby.slug);
  };
  const quietly = (part) => part().catch(() => {});
  const arrive = () => location.hash.startsWith("#move=") && quietly(move);
  addEventListener("pageshow", () => quietly(own));
  addEventListener("hashchange", arrive);
  $("move-box").addEventListener("toggle", () => $("move-box").open && quietly(move));
  arrive();
  if (kept.get(`wanted.${lobby.slug}`)) quietly(back);
  // Only the server's answer about the place contains its wishes. This answer also sets
  // `wait_ahead`.
  return () => {
    const { place, room } = lobby.now;
    if (place?.state === "called" || Date.parse(room.closes_at) - Date.now() < SOON_MS) quietly(deadlines);
    if ($("wish") || place?.wait_ahead !== undefined) quietly(wish);
    const { link, arrived } = kept.get(`room.${lobby.slug}`) ?? {};
    if (place?.state === "admitted" || link || arrived) quietly(shared);
  };
}
