// The words for seats and sections of a show's page: on the map, in the list, and for screen
// readers.

import { t } from "./core.js";
import { seatOf } from "./geometry.js";
import { money } from "./money.js";

/** Returns a seat's full name, such as "Balcony, row C, seat 12". */
export function seatName(g, i) {
  const { label, section, row, number } = seatOf(g, i);
  if (section && row) return t("seats.seat_name", { section, row, number });
  if (row) return t("seats.seat_name_row", { row, number });
  return t("seats.seat_name_plain", { label });
}

export const seatPrice = (g, i) => money(g.categories[g.category[i]]?.price);

/** Returns what is special about a seat, in brackets with a space before them, or nothing. */
export function seatTraits(g, i) {
  const seat = seatOf(g, i);
  const words = ["accessible", "companion", "restricted_view"].filter((trait) => seat[trait]).map((trait) => t(`seats.${trait}`));
  return words.length ? ` (${words.join(", ")})` : "";
}

/** Writes the lowest price and the share of free seats of a section in words. */
export function sectionWords(g, section, free) {
  const share = section.seats.length ? Math.max(1, Math.floor((100 * free) / section.seats.length)) : 0;
  section.prices ??= pricesOf(g, section);
  const [least, most] = [section.prices[0], section.prices.at(-1)];
  if (!free) return t("seats.section_none");
  if (!least) return t("seats.section_free", { share });
  return t(least.amount === most.amount ? "seats.section_price" : "seats.section_from", { price: money(least), share });
}

/** Returns the prices of a section's seats, the lowest first. */
function pricesOf(g, section) {
  const categories = new Set(Array.from(section.seats, (i) => g.category[i]));
  return [...categories].map((k) => g.categories[k].price).filter(Boolean).sort((a, b) => a.amount - b.amount);
}
