// The keys of the orders that this browser placed. A key, sent as a bearer token, gives access to
// one order and its tickets.

import { kept, keptNames } from "./core.js";

export const orderKey = (order) => kept.get(`order.${order}`)?.key ?? undefined;

export function keepOrder(order, more) {
  kept.set(`order.${order}`, { ...kept.get(`order.${order}`), ...more });
}

export const keptOrder = (order) => kept.get(`order.${order}`) ?? {};

/** Returns the orders that this browser knows and that `fits` what is stored of them. */
export const ordersKept = (fits) => keptNames("order.").map((name) => name.slice("order.".length)).filter((order) => fits(keptOrder(order)));

/**
 * Stores to which order a ticket belongs. The ticket's page needs the order's key, and the address
 * of the page contains only the ticket's id.
 */
export const keepTicket = (ticket, order) => kept.set(`ticket.${ticket}`, order);

export const orderOfTicket = (ticket) => kept.get(`ticket.${ticket}`);
