// Decides what can be wished for in the lobby, what the form's fields mean, and in which order the
// wishes are tried at the turn. This is pure code that needs no page.

/** The most wishes of one visitor. The server has the same limit. */
export const WISHES_MAX = 3;
const SEATS_MAX = 50;
/** A room with more shows takes no wishes. */
const SHOWS_MAX = 50;
/** The most calls for a hold that one tap makes. */
export const TRIES_MAX = 10;

/** Returns whether a visitor of this place can state wishes now. */
export function takesWishes(room, place) {
  const waits = place?.state === "waiting" || place?.state === "called";
  return waits && place.wishes !== undefined && room.method !== "open" && room.phase !== "closed" && room.prices?.length > 0;
}

/**
 * Returns the wishes that count for a place: those that the server sends. If it sends null, they
 * are those that this browser keeps for the place (`mine`: `{ number, wishes }`), which have no
 * odds. The server sends null if it knows of no wishes, perhaps because it lost them. It sends `[]`
 * if the visitor removed them.
 */
export function wishesThatCount(place, mine) {
  if (place?.wishes !== null) return place?.wishes ?? [];
  return (mine?.number === place.number && mine.wishes) || [];
}

/**
 * Returns whether this refusal means that the server will never keep these wishes for the place.
 */
export const isRefusedForGood = ({ status, code }) => [401, 409, 410].includes(status) || ["invalid_field", "unknown_field", "revoked"].includes(code);

/** How long (ms) to wait before wishes that the server does not know are sent again. */
const RESEND_MS = 30_000;

/**
 * Returns how long (ms) to wait before wishes that the server still does not know are sent again.
 * If the server refused them `refusals` times in a row and named a time to come back
 * (`retry_after_s`), the first wait is that time. Each further refusal doubles it up to the usual
 * wait.
 */
export function resendMs(refusals, retry_after_s) {
  if (!refusals || !retry_after_s) return RESEND_MS;
  const named = 1000 * retry_after_s;
  return Math.max(named, Math.min(RESEND_MS, named * 2 ** (refusals - 1)));
}

/**
 * Returns the shows whose seats can be wished for, in the order in which they start. The argument
 * is the answer of `GET /v1/shows`.
 */
export function showsOnSale({ shows, total }) {
  if (total > SHOWS_MAX) return [];
  const open = shows.filter((show) => show.kind === "seated" && !show.sales_ended && show.state !== "announced" && show.fate !== "cancelled");
  return open.sort((a, b) => Date.parse(a.starts_at) - Date.parse(b.starts_at));
}

/**
 * Returns the shows that a wish means: the one with this slug, or all shows if there is no slug.
 */
const showsMeant = (shows, slug) => shows.filter((show) => !slug || show.show === slug);

/** Returns how many seats one wish may have. */
export function limitOf(shows, slug) {
  const limits = showsMeant(shows, slug).map((show) => show.limits?.seats_per_visitor ?? SEATS_MAX);
  return Math.min(SEATS_MAX, Math.max(1, ...limits));
}

/**
 * Returns the categories that can be wished for, as `{ key, label, from, to, currency }`. The same
 * key in several shows is one category, with the lowest and the highest price.
 */
export function categoriesOf(shows, slug) {
  const found = new Map();
  for (const { key, label, price } of showsMeant(shows, slug).flatMap((show) => show.categories ?? [])) {
    if (!price) continue;
    const known = found.get(key) ?? { key, label: label || key, from: price.amount, to: price.amount, currency: price.currency };
    found.set(key, { ...known, from: Math.min(known.from, price.amount), to: Math.max(known.to, price.amount) });
  }
  return [...found.values()];
}

/**
 * Returns a wish without empty fields and without the fields that the server adds, always in the
 * same order.
 */
export const plainWish = ({ show, quantity, categories, accessible }) => ({
  ...(show ? { show } : {}),
  quantity,
  ...(categories?.length ? { categories } : {}),
  ...(accessible ? { accessible } : {}),
});

/**
 * Returns a wish that the shows on sale allow: with no more seats than one visitor may have, no
 * more wheelchair places than seats, and only categories that the show has.
 */
export function fittedWish(wish, shows) {
  const show = shows.some((one) => one.show === wish.show) ? wish.show : undefined;
  const quantity = Math.max(1, Math.min(limitOf(shows, show), Math.floor(wish.quantity) || 1));
  const offered = categoriesOf(shows, show).map(({ key }) => key);
  const categories = offered.filter((key) => wish.categories?.includes(key));
  const accessible = Math.max(0, Math.min(quantity, Math.floor(wish.accessible ?? 0) || 0));
  return plainWish({ show, quantity, categories, accessible });
}

/** Returns the wishes that the form's rows mean, each only once. */
export function wishesOf(rows, shows) {
  const texts = new Set(rows.map((row) => JSON.stringify(fittedWish(row, shows))));
  return [...texts].slice(0, WISHES_MAX).map((text) => JSON.parse(text));
}

/** Returns a new list in which the row at `at` stands one place earlier. */
export const movedUp = (rows, at) => (at > 0 ? [...rows.slice(0, at - 1), rows[at], rows[at - 1], ...rows.slice(at + 1)] : rows);

/**
 * Returns the calls for a hold to try, best first, as `{ at, show, best }`: `at` is the wish's
 * index and `best` is what to ask for. A wish without a show is tried at each show that has such
 * seats. A wish without categories asks for all categories that the show sells, if they are known.
 * If a call names none, the server gives only seats and no standing places.
 */
export function triesOf(wishes, shows) {
  return wishes.flatMap((wish, at) => {
    const tries = showsMeant(shows, wish.show).map((show) => {
      const has = categoriesOf([show]).map(({ key }) => key);
      const named = wish.categories ?? [];
      const categories = named.length ? named.filter((key) => has.includes(key)) : has;
      const fits = wish.quantity <= limitOf([show]) && (!named.length || categories.length > 0);
      const { quantity, accessible } = wish;
      return fits && { at, show: show.show, best: plainWish({ quantity, categories, accessible }) };
    });
    return tries.filter(Boolean);
  });
}

/**
 * Returns the tries to make: the first few of each wish. Leaves out a try if none of its categories
 * has a free seat by the room's prices. If this would leave out all tries, it leaves out none for
 * this reason.
 */
export function triesWorthMaking(tries, shows, prices) {
  const isHopeless = ({ show, best }) => {
    const wanted = categoriesOf(shows.filter((one) => one.show === show)).filter(({ key }) => best.categories?.includes(key));
    return wanted.length > 0 && wanted.every((category) => isGone(category, prices));
  };
  const hopeful = tries.filter((one) => !isHopeless(one));
  const worth = hopeful.length ? hopeful : tries;
  // A wish for any show may have many tries. It must leave some calls to the other wishes.
  const share = Math.ceil(TRIES_MAX / Math.max(1, new Set(worth.map(({ at }) => at)).size));
  const used = new Map();
  const isWithin = ({ at }) => used.set(at, (used.get(at) ?? 0) + 1).get(at) <= share;
  return worth.filter(isWithin).slice(0, TRIES_MAX);
}

/**
 * Returns the labels of a wish's categories. For a key that no show has any more, the label is the
 * key.
 */
export function labelsOfWish(wish, shows) {
  const known = categoriesOf(shows, wish.show);
  return (wish.categories ?? []).map((key) => known.find((one) => one.key === key)?.label ?? key);
}

/** Returns the title of a wish's show, or null if the wish means any show. */
export const titleOfWish = (wish, shows) => (wish.show ? (shows.find(({ show }) => show === wish.show)?.title ?? wish.show) : null);

/** Returns whether the room's prices say that no seat of this category is free now. */
export const isGone = (category, prices) => (prices ?? []).some((tier) => tier.label === category.label && tier.currency === category.currency && tier.free === 0);
