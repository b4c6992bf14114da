// The keys of the orders that this browser placed. A key, sent as a bearer token, gives access to
// one order and its tickets.

import { kept } from "./core.js";

export const orderKey = (order) => kept.get(`order.${order}`)?.key ?? undefined;

export function keepOrder(order, more) {
  kept.set(`order.${order}`, { ...kept.get(`order.${order}`), ...more });
}

export const keptOrder = (order) => kept.get(`order.${order}`) ?? {};

/**
 * Stores to which order a ticket belongs. The ticket's page needs the order's key, and the address
 * of the page contains only the ticket's id.
 */
export const keepTicket = (ticket, order) => kept.set(`ticket.${ticket}`, order);

export const orderOfTicket = (ticket) => kept.get(`ticket.${ticket}`);
