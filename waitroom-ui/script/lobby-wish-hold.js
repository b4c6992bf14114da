// Holds the seats of the first wish that can be met.

import { call, mayPass, showProblem } from "./core.js";
import { sendPatiently } from "./entry.js";
import { holdOf, rememberHold } from "./holds.js";

/**
 * Returns whether to stop trying: the next wish would be refused, too, or this one may have been
 * met already.
 */
const stopsAll = (problem) => mayPass(problem) || problem.status === 401 || problem.status === 429;

/**
 * Makes the calls of `triesWorthMaking` one after another until one holds seats. The idempotency
 * key of each call is made from `key`. So repeating all calls with the same key never holds seats
 * twice. If this browser already holds seats of one of the shows, returns that hold.
 *
 * Returns one of these:
 *
 * - `{ hold }`: the hold's id.
 * - `{ isStale }`: the calls were sent before (`isRepeated`), and their hold has ended since. A new
 *   key is needed.
 * - `{ problem, isOver }`: no hold is known. If `isOver` is true, no wish can be met. Otherwise the
 *   calls can be repeated with the same key.
 */
export async function holdWished(room, tries, { key, isRepeated }) {
  for (const show of new Set(tries.map((one) => one.show))) {
    const held = await holdOf(show, room);
    if (held) return { hold: held.hold };
  }
  let other = null;
  for (const { at, show, best } of tries) {
    const path = `/v1/shows/${encodeURIComponent(show)}/holds`;
    const answer = await sendPatiently(() => call("POST", path, { body: { best }, key: `${key}-${at}-${show}` }));
    if (answer.ok) {
      showProblem(null);
      rememberHold(show, room, answer.body);
      if (isRepeated && !(await holdOf(show, room))) return { isStale: true };
      return { hold: answer.body.hold };
    } else if (stopsAll(answer.problem)) {
      return { problem: answer.problem };
    } else if (!["best_available_not_found", "seats_taken"].includes(answer.problem.code)) {
      other = answer.problem;
    }
  }
  return { problem: other ?? { code: "wishes_gone", status: 409 }, isOver: true };
}
