// Solves the task that a room asks for before it gives a place or a pass, if it asks for one.

import { passCheck } from "./check.js";
import { call } from "./core.js";
import { fromHex, holderOf, toHex } from "./draw.js";

/** A phone has this many fast cores. More threads than that do not help. */
const THREADS_MAX = 4;
/** How often a task is solved anew if the room does not accept the solution. */
const TRIES = 3;
/**
 * Solutions that were sent with a call which was refused only for a while, for example because too
 * many joined at once, by the call's name. The server refuses such a call before it looks at the
 * solution, so the next call sends the solution again.
 */
const unused = new Map();

/** Returns whether this browser can solve tasks. It can do so only on a page that came by TLS. */
const canSolve = () => Boolean(globalThis.crypto?.subtle) && typeof Worker === "function";

/** Returns the solution of a task as ALTCHA's payload. */
async function solve(challenge) {
  const step = Math.min(THREADS_MAX, Math.max(1, navigator.hardwareConcurrency || 1));
  const workers = Array.from({ length: step }, () => new Worker(new URL("./work.js", import.meta.url), { type: "module" }));
  try {
    const solution = await new Promise((solved, failed) => {
      workers.forEach((worker, first) => {
        worker.addEventListener("message", ({ data }) => solved(data));
        worker.addEventListener("error", failed);
        // The second argument says that nothing is handed over. A worker has no origin to name.
        worker.postMessage({ parameters: challenge.parameters, first, step }, []);
      });
    });
    return btoa(JSON.stringify({ challenge, solution }));
  } finally {
    for (const worker of workers) worker.terminate();
  }
}

/**
 * Sends a call by `send(solution)`, first without a solution or with one that no call has used up.
 * If the room asks for a task, solves it and sends the call again. `secret` is the visitor's own,
 * or undefined if the browser has a place already. `begin(seconds)` is called before a task is
 * solved, with the longest time that an average phone needs for it, or with undefined if the
 * visitor has to do something. Returns the answer of the last call.
 */
export async function withChallenge(base, secret, send, begin) {
  const name = `${base} ${secret ?? ""}`;
  const sendWith = async (solution) => {
    unused.delete(name);
    const answer = await send(solution);
    if (solution && answer.problem?.retry_after_s) unused.set(name, solution);
    return answer;
  };
  let answer = await sendWith(unused.get(name));
  for (let tries = 0; tries < TRIES && answer.problem?.code === "challenge_failed" && canSolve(); tries += 1) {
    const query = secret ? `?holder=${toHex(await holderOf(fromHex(secret)))}` : "";
    const task = await call("GET", `${base}/challenge${query}`);
    if (!task.ok) return task;
    if (!task.body) {
      answer = await sendWith();
      continue;
    }
    begin(task.body.phone_s);
    const solution = task.body.altcha ? await solve(task.body.altcha) : await passCheck(task.body);
    if (!solution) return answer;
    answer = await sendWith(solution);
  }
  return answer;
}
