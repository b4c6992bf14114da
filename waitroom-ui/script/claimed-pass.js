// Fetches the pass that another device of the visitor has claimed.

import { call, kept } from "./core.js";

/**
 * If the visitor's place is in already, fetches its pass. The call returns the pass that the place
 * has, and never a second one. Returns whether this browser has the pass now. `room` is the room's
 * id.
 */
export async function fetchClaimedPass(room) {
  const base = `/v1/rooms/${encodeURIComponent(room)}`;
  const place = await call("GET", `${base}/place`);
  if (place.body?.state !== "admitted") return false;
  const { ok, body } = await call("POST", `${base}/pass`);
  // The page of the seats shows how long the pass is valid.
  if (ok) kept.set(`room.${room}`, { ...kept.get(`room.${room}`), pass_until: body.expires_at });
  return ok;
}
