// Going into a room on the way to a show. Where a room has no line its place and pass are had
// without leaving the page; where it has one, the lobby is told which page somebody came from, and
// leads back there.

import { call, kept, make, randomHex, showProblem, span, t } from "./core.js";
import { patiently } from "./patience.js";

/** What a call for seats is refused with by the door. */
export const AT_THE_DOOR = ["waiting_room", "pass_expired", "pass_invalid"];

const clock = { now: () => Date.now(), pause: (ms) => new Promise((over) => setTimeout(over, ms)) };

/**
 * Sends, and comes back when the server said to, telling whoever waits so; only the door's refusals
 * need another way.
 */
const keepTo = (send) =>
  patiently(send, {
    isFinal: ({ code }) => AT_THE_DOOR.includes(code),
    before: (wait) => showProblem({ code: "many_at_once", status: 429 }, { retry: span(wait / 1000) }),
    clock,
  });

const isOpen = (room) => room?.method === "open" && room.codes !== "required" && (room.trust?.challenge ?? "none") === "none" && (room.trust?.binding ?? "cookie") === "cookie";

/** Joins a room without a line and takes the pass; answers whether both were given. */
async function enter(room) {
  if (!isOpen(room)) return false;
  const base = `/v1/rooms/${encodeURIComponent(room.room)}`;
  const own = kept.get(`room.${room.room}`) ?? {};
  const secret = own.secret ?? randomHex(32);
  kept.set(`room.${room.room}`, { ...own, secret, commitment: own.commitment ?? room.commitment, joined: true });
  const joined = await keepTo(() => call("POST", `${base}/places`, { body: { secret } }));
  return joined.ok && (await keepTo(() => call("POST", `${base}/pass`))).ok;
}

/**
 * Sends what needs a pass; where there is none and the room has no line, goes in and sends it once
 * more.
 */
export async function atTheDoor(room, title, send) {
  const answer = await keepTo(send);
  if (answer.ok || !AT_THE_DOOR.includes(answer.problem.code)) return answer;
  if (await enter(room)) return keepTo(send);
  if (room?.room) kept.set(`wanted.${room.room}`, { href: location.pathname + location.search, title });
  return answer;
}

/**
 * In the lobby: the way back to the page that somebody came from, before the room's other shows.
 */
export function wayBack(nav, room) {
  const wanted = kept.get(`wanted.${room}`);
  if (!wanted?.href?.startsWith("/s/")) return;
  const path = wanted.href.split("?")[0];
  for (const link of nav.querySelectorAll("a")) if (link.pathname === path) link.remove();
  nav.prepend(make("a", { class: "button big go", id: "way-back", href: wanted.href, text: t("lobby.go_seats_for", { title: wanted.title ?? "" }) }));
}
