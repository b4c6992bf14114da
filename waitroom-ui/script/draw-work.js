// Checks a draw in a thread of its own, because the shuffle of a large room takes seconds.

import { check } from "./draw-check.js";

addEventListener("message", async ({ data }) => {
  try {
    postMessage({ steps: await check(data, (part) => postMessage({ part })) });
  } catch {
    postMessage({ steps: null }); // A field of the record is missing or is not hex.
  }
});
