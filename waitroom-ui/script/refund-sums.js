// Computes the sums of a refund. Pure code, so that it can be tested without a page.

/**
 * Returns the refund and the fee for the ticked tickets, and how many are ticked (`going`). If all
 * tickets are ticked, or the order has no tickets yet, returns the refund and the fee of the whole
 * order. These may be more than the sums of the tickets, because a sum that was never charged is
 * taken off each ticket, but only once off the whole order.
 */
export function sums(offer, ticked) {
  const going = offer.tickets.filter(({ ticket }) => ticked.has(ticket));
  if (going.length === offer.tickets.length) return { amount: offer.amount, fee: offer.fee, going: going.length };
  const sum = (of) => ({ currency: offer.amount.currency, amount: going.reduce((all, ticket) => all + ticket[of].amount, 0) });
  return { amount: sum("amount"), fee: sum("fee"), going: going.length };
}

/**
 * Returns the body of the refund call: the ticked tickets. If the order has no tickets yet, the
 * body is empty, which means the whole order.
 */
export function asked(offer, ticked) {
  const tickets = offer?.tickets ?? [];
  return tickets.length ? { tickets: tickets.map(({ ticket }) => ticket).filter((ticket) => ticked.has(ticket)) } : {};
}
