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

/** Returns the name of the text that says what can be given back, and at what price. */
export function lead({ amount, fee, fee_pct: pct, reason, carried, returned }) {
  if (amount.amount === 0 && fee.amount === 0 && !returned) return "lead_nothing";
  // Money that could all be given back when it was carried over follows the show's rule.
  if (carried && carried.refundable.amount < carried.amount.amount) return pct > 0 ? "lead_carried_fee" : "lead_carried";
  if (pct > 0) return "lead_fee";
  return reason === "train_retimed" ? "lead_retimed" : "lead_free";
}
