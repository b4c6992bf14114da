// Says on the page of a show or of a train which seats are in an order of the visitor, with a link
// to the order. The page has the part `ordered` of pages/held.html.

import { $, announce, call, make, problemShown, showProblem, t } from "./core.js";
import { orderKey, ordersKept } from "./keys.js";

/** The states of an order whose seats are the visitor's, or will be when it is paid. */
const HAS_SEATS = ["pending", "awaiting_consent", "confirmed", "ticketed", "partly_refunded"];

/** Returns the labels of the seats that an order has, or none if it has ended. */
export const seatsOfOrder = ({ state, seats }) => (HAS_SEATS.includes(state) ? seats.filter(({ refunded }) => !refunded).map(({ label }) => label) : []);

const words = (labels) => t("seats.ordered", { n: labels.length, seats: labels.join(", ") });

/** The lines that the page shows, by order. */
const lines = new Map();

function write(order, labels) {
  const link = order ? [" ", make("a", { href: `/o/${encodeURIComponent(order)}`, text: t("common.to_order") })] : [];
  lines.set(order, make("p", { class: "message" }, words(labels), ...link));
  $("ordered").replaceChildren(...lines.values());
}

/**
 * Says that a basket which the page showed has become an order. `order` is null if it is not known.
 * The page no longer says that these seats are in a basket.
 */
export function tellOrdered(order, labels) {
  if (problemShown() === "held_elsewhere") showProblem(null);
  $("say").replaceChildren();
  write(order, labels);
  announce(words(labels), true);
}

/** Says what the orders that this browser knows have of a show. */
export async function tellOrders(show) {
  const orders = ordersKept((one) => one.show === show);
  const answers = await Promise.all(orders.map((order) => call("GET", `/v1/orders/${encodeURIComponent(order)}`, { bearer: orderKey(order) })));
  for (const [at, { ok, body }] of answers.entries()) {
    const labels = ok ? seatsOfOrder(body) : [];
    if (!labels.length) continue;
    write(orders[at], labels);
    announce(words(labels));
  }
}
