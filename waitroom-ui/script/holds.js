// Stores holds in this browser, with the difference between its clock and the server's. Sends calls
// with one idempotency key per intent, so that a retry never takes seats twice. Reads the seats
// that a refusal names.

import { fetchClaimedPass } from "./claimed-pass.js";
import { call, kept, keptNames, mayPass, randomHex, t } from "./core.js";
import { keepOrder } from "./keys.js";
import { skewOf } from "./skew.js";

/**
 * Stores a hold for its show's page and for the checkout. Removes holds whose deadline passed more
 * than a day ago.
 */
export function rememberHold(show, room, answer) {
  const hold = { ...answer, show, room, skew_ms: skewOf(answer.server_time) };
  kept.set(`hold.${answer.hold}`, hold);
  kept.set(`held.${show}`, answer.hold);
  const isOld = (one) => !one || Date.parse(one.expires_at) + 86_400_000 < Date.now();
  for (const name of keptNames("hold.")) if (isOld(kept.get(name))) kept.remove(name);
  return hold;
}

export const holdKept = (id) => kept.get(`hold.${id}`);

export function forgetHold(show, id) {
  kept.remove(`hold.${id}`);
  if (kept.get(`held.${show}`) === id) kept.remove(`held.${show}`);
}

/**
 * Reads what the visitor has of a show on any device, as `{ holds, orders }`, or null. Stores the
 * orders' keys, so that this browser opens the orders, too. If another device claimed the pass and
 * this one has none yet, fetches it first.
 */
export async function readOwn(show, room) {
  const read = () => call("GET", `/v1/shows/${encodeURIComponent(show)}/holds`);
  let answer = await read();
  if (answer.problem?.code === "waiting_room" && isShared(room) && (await fetchClaimedPass(room))) answer = await read();
  if (!answer.ok) return null;
  for (const { order, order_key } of answer.body.orders) keepOrder(order, { key: order_key, show });
  return answer.body;
}

const basketOf = (holds) => holds.find(({ purpose }) => purpose === "basket");

/** Returns the visitor's basket of a show that another device may have made, or null. */
export async function holdElsewhere(show, room) {
  const own = await readOwn(show, room);
  const basket = own && basketOf(own.holds);
  return basket ? rememberHold(show, room, basket) : null;
}

/**
 * Returns the basket that a page must show instead of making another one, or null. Asks for it if
 * the visitor may have the place on another device, too.
 */
export const basketElsewhere = async (show, room) => (isShared(room) ? holdElsewhere(show, room) : null);

/**
 * Compares the basket that a page shows, or null, with what the visitor has by now. Returns `found`
 * (a basket that the page does not show), `changed` (the shown basket with other seats), `moved`
 * (its new deadline) and `ended` with the `order` that it became, if it did. Each is left out if
 * there is no such news.
 */
export function basketNews(shown, { holds, orders }) {
  if (!shown) return { found: basketOf(holds) };
  const now = holds.find(({ hold }) => hold === shown.hold);
  if (!now) return { ended: true, order: orders.find(({ hold }) => hold === shown.hold)?.order, found: basketOf(holds) };
  const labels = ({ seats }) => seats.map(({ label }) => label).sort().join();
  if (labels(now) !== labels(shown)) return { changed: now };
  return now.expires_at === shown.expires_at ? {} : { moved: now.expires_at };
}

/** Returns the problem of a hold that ended before its time, and the values that fill its words. */
export const releasedProblem = (hold) => [{ code: "hold_released", status: 410 }, { cause: hold?.journey ? t("common.train_restopped") : t("common.server_restarted") }];

/** Returns the order that was made of a hold, on whatever device, or null. */
export async function orderOf({ hold, show, room }) {
  const own = await readOwn(show, room);
  return own?.orders.find((one) => one.hold === hold)?.order ?? null;
}

/** Returns the order that another device of the visitor made of a hold, or null. */
export const orderElsewhere = async (hold) => (isShared(hold.room) ? orderOf(hold) : null);

/**
 * Returns whether the visitor may have this room's place on another device, too: it came from one,
 * or this browser has made a link for one.
 */
export function isShared(room) {
  const { link, arrived } = kept.get(`room.${room}`) ?? {};
  return Boolean(link || arrived);
}

/**
 * Returns this browser's hold of a show as the server knows it. If this browser has none, and the
 * visitor may have the place on another device, returns the hold of that device. If the server
 * gives no answer, returns the stored hold until its deadline. Returns null if there is no hold, or
 * it was ordered or has ended. If it ended before its time, calls `lost` with the problem and the
 * values that fill its words.
 */
export async function holdOf(show, room, lost = () => {}) {
  const id = kept.get(`held.${show}`);
  const stored = id && holdKept(id);
  if (!stored) return isShared(room) ? holdElsewhere(show, room) : null;
  const answer = await call("GET", `/v1/holds/${encodeURIComponent(id)}`);
  if (answer.ok && answer.body.state !== "ordered") return rememberHold(show, room, { ...stored, ...answer.body });
  const isOver = Date.parse(stored.expires_at) - stored.skew_ms <= Date.now();
  if (answer.problem?.code === "show_cancelled") lost(answer.problem);
  else if (answer.status === 410 && !isOver && !kept.get(`ordered.${id}`)) lost(...releasedProblem(stored));
  const isGone = answer.ok || answer.problem?.code === "show_cancelled" || answer.status === 404 || answer.status === 410 || isOver;
  if (!isGone) return stored;
  forgetHold(show, id);
  return isShared(room) ? holdElsewhere(show, room) : null;
}

/**
 * Sends a call with the same idempotency key until its outcome is known. Two calls with the same
 * method, path and body count as the same call.
 */
export class Intent {
  async send(method, path, body) {
    const text = JSON.stringify([method, path, body]);
    if (this.text !== text) [this.text, this.key] = [text, randomHex(16)];
    const answer = await call(method, path, { body, key: this.key });
    if (answer.ok || !mayPass(answer.problem)) this.text = null;
    return answer;
  }
}

/**
 * Returns the labels of the seats that a member of a problem names. The member has one of the forms
 * `["A-1"]`, `[{label}]` and `{seats: …}`.
 */
export function labelsOf(value) {
  const list = Array.isArray(value) ? value : (value?.seats ?? []);
  return list.map((seat) => (typeof seat === "string" ? seat : seat.label)).filter(Boolean);
}
