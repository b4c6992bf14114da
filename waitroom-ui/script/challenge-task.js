// Solves the task that a room may set before it gives a place or a pass. The task is a proof of
// work or the check of a provider.

import { passCheck } from "./check.js";
import { fromHex, holderOf, toHex } from "./draw.js";

/** A phone has this many fast cores. More threads than that do not help. */
const THREADS_MAX = 4;

/** Returns the holder of a visitor's secret, which is its hash, in hex. */
export const holderHex = async (secret) => toHex(await holderOf(fromHex(secret)));

/** Returns the solution of a task as ALTCHA's payload. */
async function solve(challenge) {
  const step = Math.min(THREADS_MAX, Math.max(1, navigator.hardwareConcurrency || 1));
  const workers = Array.from({ length: step }, () => new Worker(new URL("./work.js", import.meta.url), { type: "module" }));
  try {
    const solution = await new Promise((solved, failed) => {
      workers.forEach((worker, first) => {
        worker.addEventListener("message", ({ data }) => solved(data));
        worker.addEventListener("error", failed);
        // The second argument lists transferred objects. A worker's call names no target origin.
        worker.postMessage({ parameters: challenge.parameters, first, step }, []);
      });
    });
    return btoa(JSON.stringify({ challenge, solution }));
  } finally {
    for (const worker of workers) worker.terminate();
  }
}

/** Returns the solution of a room's task, or null if it cannot be solved. */
export const solveTask = (task) => (task.altcha ? solve(task.altcha) : passCheck(task));
