// Links to the visitor's own basket, orders and tickets of the room's shows, as this browser
// remembers them.

import { $, kept, keptNames, make, show, t } from "./core.js";

/** Returns the newest baskets and orders of these shows, as `{ kind, id }`. */
function ownThings(shows, room) {
  const mine = (one) => one && (shows.has(one.show) || one.room === room);
  const ids = (prefix) => keptNames(prefix).map((name) => name.slice(prefix.length));
  const baskets = ids("hold.").filter((id) => {
    const hold = kept.get(`hold.${id}`);
    return mine(hold) && Date.parse(hold.expires_at) - (hold.skew_ms ?? 0) > Date.now() && !kept.get(`ordered.${id}`);
  });
  const orders = ids("order.").filter((id) => mine(kept.get(`order.${id}`)));
  return [...baskets.map((id) => ({ kind: "basket", id })), ...orders.map((id) => ({ kind: "order", id }))];
}

const HREFS = { basket: "/checkout/", order: "/o/" };

export function renderOwn(shows, room) {
  const things = ownThings(new Set(shows.map(({ show: slug }) => slug)), room);
  show($("own"), things.length > 0);
  $("own-list").replaceChildren(...things.map(({ kind, id }) => make("li", {}, make("a", { href: HREFS[kind] + encodeURIComponent(id), text: t(`lobby.own.${kind}`) }))));
}
