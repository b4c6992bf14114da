// Gets a pass for a visitor who opened a show's page without one. If the room has no line, the page
// itself fetches a place and a pass. If another device of the visitor claimed a pass, the page
// fetches the same pass. Otherwise this browser stores the page's address, and the
// lobby links back to the page.

import { withChallenge } from "./challenge.js";
import { fetchClaimedPass } from "./claimed-pass.js";
import { call, kept, randomHex, showProblem, span } from "./core.js";
import { patiently } from "./patience.js";

/** The problem codes with which the server refuses a call for seats that has no valid pass. */
export const AT_THE_DOOR = ["waiting_room", "pass_ended", "pass_expired", "pass_stopped", "pass_invalid"];

const clock = { now: () => Date.now(), pause: (ms) => new Promise((over) => setTimeout(over, ms)) };

/**
 * Sends a call. If the server asks for a short wait, shows this on the page and sends the call
 * again after the wait. A refusal because of the pass is returned at once, because waiting does not
 * help.
 */
export const sendPatiently = (send) =>
  patiently(send, {
    isFinal: ({ code }) => AT_THE_DOOR.includes(code),
    before: (wait, problem) => showProblem(problem, { again: span(wait / 1000) }),
    clock,
  });

/**
 * Returns whether this page may get the room's pass by itself. It may if the room has no line, and
 * requires neither codes nor a key for each place.
 */
export const isOpen = (room) => room?.method === "open" && room.codes !== "required" && (room.trust?.binding ?? "cookie") === "cookie";

/**
 * Joins a room without a line and claims the pass. Returns whether both succeeded. Makes no call
 * and returns false if the room has a line, or requires codes or a key for each place.
 */
async function enter(room) {
  if (!isOpen(room)) return false;
  const base = `/v1/rooms/${encodeURIComponent(room.room)}`;
  const stored = kept.get(`room.${room.room}`) ?? {};
  const secret = stored.secret ?? randomHex(32);
  kept.set(`room.${room.room}`, { ...stored, secret, commitment: stored.commitment ?? room.commitment, joined: true });
  const begin = (seconds) => showProblem(seconds ? { code: "solving", status: 403 } : null, { about: span(seconds) });
  const join = (challenge) => sendPatiently(() => call("POST", `${base}/places`, { body: { secret, ...(challenge ? { challenge } : {}) } }));
  const claim = (challenge) => sendPatiently(() => call("POST", `${base}/pass`, challenge ? { body: { challenge } } : {}));
  const joined = await withChallenge(base, secret, join, begin);
  if (!joined.ok) return false;
  const claimed = await withChallenge(base, undefined, claim, begin);
  // The page keeps a pass that it knows of while somebody does something.
  if (claimed.ok) kept.set(`room.${room.room}`, { ...kept.get(`room.${room.room}`), pass_until: claimed.body.expires_at });
  return claimed.ok;
}

/** Stores the address of this page, to which the room's lobby then links back. */
export function rememberPage(room, title) {
  kept.set(`wanted.${room}`, { href: location.pathname + location.search, title });
}

/**
 * Sends a call that needs a pass. If the visitor has no valid pass and the room has no line, or
 * another device of the visitor has a pass, gets a pass and sends the call again. If the page gets
 * no pass, stores its address for `wayBack`.
 *
 * `isHeld` is called when the pass came from another device, which may have made a basket with it.
 * If it returns true, the call is not sent again, and the answer is null.
 */
export async function atTheDoor(room, title, send, isHeld = async () => false) {
  const answer = await sendPatiently(send);
  if (answer.ok || !AT_THE_DOOR.includes(answer.problem.code)) return answer;
  // Without a cookie there is no pass, and each try would take another place.
  if (!navigator.cookieEnabled) return { ok: false, status: 403, problem: { code: "cookies_blocked", status: 403 } };
  if (await enter(room)) return sendPatiently(send);
  if (room?.room && (await fetchClaimedPass(room.room))) return (await isHeld()) ? null : sendPatiently(send);
  if (room?.room) rememberPage(room.room, title);
  return answer;
}
