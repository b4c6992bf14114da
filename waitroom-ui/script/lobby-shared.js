// Keeps a place whole on every device that has it. If another device claimed the pass, this browser
// fetches the same pass. If the place was brought to another device or came from one, this browser
// finds the baskets and orders of the other device, and the page says that there is another one.

import { $, announce, call, data, kept, keptNames, make, show, t, when } from "./core.js";
import { forgetHold, rememberHold } from "./holds.js";
import { keepOrder } from "./keys.js";
import { renderOwn } from "./lobby-own.js";
import { skewOf } from "./skew.js";

/** How often the page looks for what another device began, and whether a code was used. */
const LOOK_MS = 10_000;
const MOVE_LOOK_MS = 2_500;
/** How many of the room's shows are asked for baskets and orders. */
const SHOWS_MAX = 20;

const stored = (slug) => kept.get(`room.${slug}`) ?? {};
const store = (slug, more) => kept.set(`room.${slug}`, { ...stored(slug), ...more });

let hasAskedForPass = false;

/**
 * Fetches the pass of a place that is in already, unless this browser has claimed it. The call
 * returns the pass that the place has, and never a second one.
 */
async function fetchPass({ base, slug, now }) {
  if (now.place?.state !== "admitted") hasAskedForPass = false;
  if (now.place?.state !== "admitted" || hasAskedForPass) return;
  const until = stored(slug).pass_until;
  if (until && Date.parse(until) > Date.now() + skewOf(data.now)) return;
  hasAskedForPass = true;
  const answer = await call("POST", `${base}/pass`);
  if (answer.ok) store(slug, { pass_until: answer.body.expires_at });
  else hasAskedForPass = false;
}

/** Stores the visitor's baskets and orders of a show, and forgets a basket that has ended. */
async function fetchOwn(slug, { show: id }) {
  const answer = await call("GET", `/v1/shows/${encodeURIComponent(id)}/holds`);
  if (!answer.ok) return answer.status !== 429;
  const { holds, orders } = answer.body;
  for (const name of keptNames("hold.")) {
    const known = kept.get(name);
    if (known?.show === id && known.room === slug && !holds.some(({ hold }) => hold === known.hold)) forgetHold(id, known.hold);
  }
  for (const hold of holds.filter(({ purpose }) => purpose === "basket")) rememberHold(id, slug, hold);
  for (const { order, order_key } of orders) keepOrder(order, { key: order_key, show: id });
  return true;
}

let lookedAt = -Infinity;

/** Looks for baskets and orders of the other device. Before the turn there are none. */
async function lookForOwn({ slug, now }) {
  if (now.place?.state === "waiting") return;
  if (performance.now() - lookedAt < LOOK_MS || document.visibilityState !== "visible") return;
  lookedAt = performance.now();
  for (const one of data.shows.slice(0, SHOWS_MAX)) if (!(await fetchOwn(slug, one))) return;
  renderOwn(data.shows, slug);
}

let looking = 0;

/** Asks whether another device has used the code of the last link, until it has or has run out. */
async function lookForMove(lobby) {
  clearTimeout(looking);
  const { made, until, moved } = stored(lobby.slug).link ?? {};
  if (!made || moved || !lobby.now.place) return;
  const isOver = Date.now() + skewOf(data.now) > Date.parse(until) + LOOK_MS;
  const answer = document.visibilityState === "visible" ? await call("GET", `${lobby.base}/place/move`) : {};
  const at = answer.body?.moved_at;
  if (answer.ok && at && Date.parse(at) >= made) {
    store(lobby.slug, { link: { made, until, moved: at } });
    sayMoved(lobby, true);
    return lookForOwn(lobby);
  }
  if (!isOver) looking = setTimeout(() => lookForMove(lobby), MOVE_LOOK_MS);
}

/** Says that another device has the place, too. `isNew`: it has just been brought there. */
function sayMoved({ slug, now }, isNew = false) {
  const at = stored(slug).link?.moved;
  if (at && !$("moved-away")) $("place").before(make("p", { id: "moved-away", class: "message" }));
  show($("moved-away"), Boolean(at && now.place));
  if (!at) return;
  $("moved-away").textContent = t("lobby.move.away", { time: when(at) });
  show($("move-made"), false);
  if (isNew) announce(t("lobby.move.away_said"), true);
}

/** How long the code of a link is valid. */
const LINK_MS = 300_000;

/** Notes that this browser has made a link with a code that expires at `expires_at`. */
export function noteLink(lobby, expires_at) {
  store(lobby.slug, { link: { made: Date.parse(expires_at) - LINK_MS, until: expires_at } });
  sayMoved(lobby);
  follow(lobby);
  return lookForMove(lobby);
}

let isFollowing = false;

/** Brings the page up to date. It is called after each change. `lobby` is that of `wireParts`. */
export async function keepWhole(lobby) {
  sayMoved(lobby);
  await fetchPass(lobby);
  const { link, arrived } = stored(lobby.slug);
  if (!link?.moved && !arrived) return link && !isFollowing ? follow(lobby) : undefined;
  await lookForOwn(lobby);
  follow(lobby);
}

function follow(lobby) {
  if (isFollowing) return;
  isFollowing = true;
  lookForMove(lobby);
  document.addEventListener("visibilitychange", () => lookForMove(lobby));
  // Another device may have claimed the pass, and no frame of the socket tells this.
  setInterval(() => lobby.now.place && document.visibilityState === "visible" && lobby.refresh(), LOOK_MS);
}
