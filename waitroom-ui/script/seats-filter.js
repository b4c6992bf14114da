// The filters above the map: seats of one category, up to a price, or accessible ones. Other seats
// are faded on the map and left out of the list.

import { $, make, show, t } from "./core.js";
import { isAccessible } from "./geometry.js";
import { money } from "./money.js";

export class SeatFilter {
  /**
   * `changed(fits)` is called with a function of a seat's index, or with null if every seat fits.
   */
  constructor(g, changed) {
    this.g = g;
    const prices = [...new Map(g.categories.filter(({ price }) => price).map(({ price }) => [price.amount, price])).values()].sort((a, b) => a.amount - b.amount);
    for (const price of prices.slice(0, -1)) $("filter-price").append(make("option", { value: price.amount, text: t("seats.filter_up_to", { price: money(price) }) }));
    show($("filter-price").parentElement, prices.length > 1);
    show($("filter-category").parentElement, g.categories.length > 1);
    show($("filter-accessible").parentElement, g.flags.some((flags) => flags & 1));
    show($("filters"), [...$("filters").children].some((field) => !field.hidden));
    $("filters").addEventListener("change", () => changed(this.fits()));
    $("filters").addEventListener("submit", (event) => event.preventDefault());
  }

  fits() {
    const { g } = this;
    const category = $("filter-category").value;
    const chosen = $("filter-price").value;
    const priceMax = chosen === "" ? Infinity : Number(chosen); // A category may be free of charge.
    const accessible = $("filter-accessible").checked;
    if (!category && priceMax === Infinity && !accessible) return null;
    const fitting = g.categories.map(({ key, price }) => (!category || key === category) && (priceMax === Infinity || (price?.amount ?? Infinity) <= priceMax));
    return (i) => fitting[g.category[i]] && (!accessible || isAccessible(g, i));
  }
}
