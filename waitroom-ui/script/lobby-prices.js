// Writes the prices of the room by category, and how many seats are free at each. The server has
// written the first prices into the page, so this file is loaded later.

import { $, announce, loadLaterTexts, make, t } from "./core.js";
import { money } from "./money.js";

/** Returns a tier's price in words: one price, or the range over the room's shows. */
export function priceWords({ from, to, currency }) {
  const [low, high] = [from, to].map((amount) => money({ amount, currency }));
  return from === to ? low : t("lobby.prices.range", { from: low, to: high });
}

export async function writePrices(prices) {
  if (!(await loadLaterTexts())) return;
  $("tiers").replaceChildren(
    ...prices.map((tier) =>
      make("li", { "data-left": tier.free > 0 ? "some" : "none" },
        make("span", { class: "tier", text: tier.label }),
        make("span", { class: "price", text: priceWords(tier) }),
        make("span", { class: "left" }, make("span", { class: "shape" }), tier.free > 0 ? t("lobby.prices.left", { n: tier.free }) : t("lobby.prices.none"))),
    ),
  );
}

/** Announces at once that no seat is free in these categories any more. */
export async function announceGone(labels) {
  if (await loadLaterTexts()) announce(t("lobby.prices.say_none", { tiers: labels.join(", ") }), true);
}
