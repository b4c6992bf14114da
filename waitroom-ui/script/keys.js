// The keys of orders placed in this browser: each opens one order and its tickets, on this device
// or as a Bearer.

import { kept } from "./core.js";

export const orderKey = (order) => kept.get(`order.${order}`)?.key ?? undefined;

export function keepOrder(order, more) {
  kept.set(`order.${order}`, { ...kept.get(`order.${order}`), ...more });
}

export const keptOrder = (order) => kept.get(`order.${order}`) ?? {};

/** Tickets are opened by their own address, so each remembers the order whose key it needs. */
export const keepTicket = (ticket, order) => kept.set(`ticket.${ticket}`, order);

export const orderOfTicket = (ticket) => kept.get(`ticket.${ticket}`);
