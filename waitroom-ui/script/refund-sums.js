// What giving tickets back comes to: pure, so that it is tried without a page.

/**
 * What goes back and what is kept for the tickets that are not in `left`; for all of it while no
 * tickets are made.
 */
export function sums(offer, left) {
  if (!offer.tickets.length) return { amount: offer.amount, fee: offer.fee, going: 0 };
  const going = offer.tickets.filter(({ ticket }) => !left.has(ticket));
  const sum = (of) => ({ currency: offer.amount.currency, amount: going.reduce((all, ticket) => all + ticket[of].amount, 0) });
  return { amount: sum("amount"), fee: sum("fee"), going: going.length };
}

/**
 * The body of the call: the tickets that are not in `left`, or all of the order while none are
 * made.
 */
export function asked(offer, left) {
  const tickets = offer?.tickets ?? [];
  return tickets.length ? { tickets: tickets.map(({ ticket }) => ticket).filter((ticket) => !left.has(ticket)) } : {};
}
