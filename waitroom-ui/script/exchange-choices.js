// Decides which shows the seats of a show may be exchanged for. This is pure code that needs no
// page.

/** The room of all shows that no other room names. These shows are not related to each other. */
const EVERYDAY = "everyday";

/**
 * Returns the search parameters that find the shows that belong together with a show. These are the
 * shows of its on-sale. If it has no on-sale, they are the shows with its title at its venue.
 */
export const searchFor = ({ room, title, venue }) => (room === EVERYDAY ? { q: title, venue } : { room });

/**
 * Returns the shows that seats of `own` may be exchanged for, including `own`. They belong
 * together, are still on sale and have prices in `currency`. `now` is the server's time.
 */
export function exchangeChoices(own, shows, { currency, now }) {
  const belongs = (show) => show.room === own.room && (own.room !== EVERYDAY || (show.title === own.title && show.venue === own.venue));
  const isSold = (show) => show.kind !== "rail" && show.fate !== "cancelled" && show.state !== "announced" && !show.sales_ended && Date.parse(show.starts_at) > Date.parse(now);
  const isPriced = (show) => show.categories.some(({ price }) => price?.currency === currency);
  return shows.filter((show) => belongs(show) && isSold(show) && isPriced(show));
}
