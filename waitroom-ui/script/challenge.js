// Sends a call that a room may answer with a task. The code that solves the task is loaded when it
// is needed.

import { call } from "./core.js";

/** The most tasks that are solved for one call. */
const TRIES = 3;
/**
 * Solutions that no call has used up, by the room's path and the visitor's secret. If the server
 * refuses a call only for a while, for example because too many join at once, it has not looked at
 * the solution. So the next call sends the solution again.
 */
const unused = new Map();

/**
 * Returns whether this browser can solve tasks. Browsers allow it only on pages that came by TLS or
 * from the same machine.
 */
const canSolve = () => Boolean(globalThis.crypto?.subtle) && typeof Worker === "function";

/**
 * Sends a call by `send(solution)`, first without a solution or with one that no call has used up.
 * If the room asks for a task, solves it and sends the call again. Returns the answer of the last
 * call.
 *
 * `secret` is the visitor's secret, or undefined if the browser has a place already.
 * `begin(seconds)` is called before a task is solved. `seconds` is the longest time that an average
 * phone needs, or undefined if the visitor has to do something. `first` is the answer to the call
 * without a solution, if the call was sent already.
 */
export async function withChallenge(base, secret, send, begin, first) {
  const name = `${base} ${secret ?? ""}`;
  const sendWith = async (solution) => {
    unused.delete(name);
    const answer = await send(solution);
    if (solution && answer.problem?.retry_after_s) unused.set(name, solution);
    return answer;
  };
  let answer = first && !unused.has(name) ? first : await sendWith(unused.get(name));
  for (let tries = 0; tries < TRIES && answer.problem?.code === "challenge_failed" && canSolve(); tries += 1) {
    const solver = await import("./challenge-task.js").catch(() => null);
    if (!solver) {
      // If the server cannot be reached either, returns that problem, so that the visitor sees it.
      const reached = await call("GET", base);
      return reached.ok ? answer : reached;
    }
    const query = secret ? `?holder=${await solver.holderHex(secret)}` : "";
    const task = await call("GET", `${base}/challenge${query}`);
    if (!task.ok) return task;
    if (!task.body) {
      answer = await sendWith();
      continue;
    }
    begin(task.body.phone_s);
    const solution = await solver.solveTask(task.body);
    if (!solution) return answer;
    answer = await sendWith(solution);
  }
  return answer;
}
