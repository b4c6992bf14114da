// The prices of the room by category, and how many seats are left at each. The list is always on
// the page, so that nobody waits for a price that is gone.

import { $, announce, make, money, show, t } from "./core.js";
import { newlyGone } from "./lobby-words.js";

/** Returns a tier's price in words: one price, or the range over the room's shows. */
function priceWords({ from, to, currency }) {
  const [low, high] = [from, to].map((amount) => money({ amount, currency }));
  return from === to ? low : t("lobby.prices.range", { from: low, to: high });
}

let shown = "";

export function renderPrices(room) {
  const prices = room.phase === "closed" ? [] : (room.prices ?? []);
  show($("prices"), prices.length > 0);
  const wanted = JSON.stringify(prices);
  if (wanted === shown) return;
  shown = wanted;
  $("tiers").replaceChildren(
    ...prices.map((tier) =>
      make("li", { "data-left": tier.free > 0 ? "some" : "none" },
        make("span", { class: "tier", text: tier.label }),
        make("span", { class: "price", text: priceWords(tier) }),
        make("span", { class: "left" }, make("span", { class: "shape" }), tier.free > 0 ? t("lobby.prices.left", { n: tier.free }) : t("lobby.prices.none"))),
    ),
  );
}

/** Announces at once that no seat is free in a category any more. */
export function announceGone(before, after) {
  const gone = newlyGone(before, after);
  if (gone.length) announce(t("lobby.prices.say_none", { tiers: gone.join(", ") }), true);
}
