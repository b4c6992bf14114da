// Decides for which shows seats may be exchanged. Pure code, so that it can be tested without a
// page.

/** The room of all shows that no other room names. Its shows have nothing to do with each other. */
const EVERYDAY = "everyday";

/**
 * Returns the search parameters that find the shows that belong together with a show: the shows of
 * its on-sale or, without an on-sale, the shows with its title at its venue.
 */
export const searchFor = ({ room, title, venue }) => (room === EVERYDAY ? { q: title, venue } : { room });

/**
 * Returns the shows that seats of `own` may be exchanged for, itself among them: they belong
 * together, are still sold, and cost the same currency. `now` is the server's time.
 */
export function exchangeChoices(own, shows, { currency, now }) {
  const belongs = (show) => show.room === own.room && (own.room !== EVERYDAY || (show.title === own.title && show.venue === own.venue));
  const isSold = (show) => show.kind !== "rail" && show.fate !== "cancelled" && !show.sales_ended && Date.parse(show.starts_at) > Date.parse(now);
  const isPriced = (show) => show.categories.some(({ price }) => price?.currency === currency);
  return shows.filter((show) => belongs(show) && isSold(show) && isPriced(show));
}
