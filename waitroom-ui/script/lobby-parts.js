// Loads the parts of the lobby that few visitors use, when they use them: the links to own baskets
// and orders, and the move of a place to another device.

import { $, data, keptNames, loadLaterTexts } from "./core.js";

/**
 * `lobby` has `base` (the path of the room's calls), `slug`, `hasPlace()`, and `arrived(answer)`,
 * which is called when a place was brought here. A part that cannot be loaded is left out: the page
 * works without it, and tries again the next time.
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
  const quietly = (part) => part().catch(() => {});
  const arrive = () => location.hash.startsWith("#move=") && quietly(move);
  addEventListener("pageshow", () => quietly(own));
  addEventListener("hashchange", arrive);
  $("move-box").addEventListener("toggle", () => $("move-box").open && quietly(move));
  arrive();
}
