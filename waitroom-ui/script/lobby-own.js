// Links to the visitor's baskets and orders for the room's shows, as this browser has stored them.

import { $, kept, keptNames, make, show, t } from "./core.js";
import { ordersKept } from "./keys.js";

/** Returns the baskets and orders of these shows or of this room, as `{ kind, id, show }`. */
function ownThings(shows, room) {
  const mine = (one) => one && (shows.has(one.show) || one.room === room);
  const holds = keptNames("hold.").map((name) => name.slice("hold.".length));
  const baskets = holds.filter((id) => {
    const hold = kept.get(`hold.${id}`);
    return mine(hold) && Date.parse(hold.expires_at) - (hold.skew_ms ?? 0) > Date.now() && !kept.get(`ordered.${id}`);
  });
  const orders = ordersKept(mine);
  const thing = (kind, prefix) => (id) => ({ kind, id, show: kept.get(`${prefix}${id}`).show });
  return [...baskets.map(thing("basket", "hold.")), ...orders.map(thing("order", "order."))];
}

const HREFS = { basket: "/checkout/", order: "/o/" };

export function renderOwn(shows, room) {
  const titles = new Map(shows.map(({ show: slug, title }) => [slug, title]));
  const things = ownThings(new Set(titles.keys()), room);
  show($("own"), things.length > 0);
  $("own-list").replaceChildren(...things.map(({ kind, id, show: slug }) => make("li", {}, make("a", { href: HREFS[kind] + encodeURIComponent(id), text: t(`lobby.own.${kind}`, { title: titles.get(slug) ?? slug ?? "" }) }))));
}
