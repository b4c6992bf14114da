// Writes wishes in words, with the labels and titles of the room's shows.

import { call, t } from "./core.js";
import { labelsOfWish, showsOnSale, titleOfWish } from "./lobby-wish-plan.js";

let asked = null;

/**
 * Returns the room's shows of which seats can be wished for, or null if they cannot be fetched now.
 * They are fetched once.
 */
export async function roomShows(slug) {
  asked ??= call("GET", `/v1/shows?room=${encodeURIComponent(slug)}`).then(({ ok, body }) => (ok ? showsOnSale(body) : null));
  const shows = await asked;
  if (!shows) asked = null;
  return shows;
}

const seatsOf = (wish) => t("common.seats_n", { n: wish.quantity });

/** Writes how many seats and where: "2 seats: Stalls or Balcony". */
export function wishSaid(wish, shows) {
  const labels = labelsOfWish(wish, shows);
  if (!labels.length) return seatsOf(wish);
  return t("lobby.wish.said", { seats: seatsOf(wish), where: labels.reduce((one, other) => t("lobby.wish.or", { one, other })) });
}

/** Writes what else a wish says: its wheelchair places, and its show if there are several. */
export function detailsSaid(wish, shows) {
  const places = wish.accessible ? t("lobby.wish.wheelchair", { n: wish.accessible }) : null;
  const title = shows.length > 1 ? (titleOfWish(wish, shows) ?? t("lobby.wish.any_show")) : null;
  return [places, title].filter(Boolean).join(" · ");
}
