// Coming back when the server said to. Under a rush it sends people away to a time of their own; a
// page that keeps to it is let in, so nobody has to press a button again.

/**
 * So long a page comes back by itself, milliseconds; a longer wait is told, and left to the person
 * before it.
 */
export const PATIENCE_MS = 20_000;

/**
 * Sends until it is decided. `isFinal` says which refusals no waiting changes; `before(wait_ms)` is
 * told each time that somebody was sent away; `clock` is `{ now(), pause(ms) }`.
 */
export async function patiently(send, { isFinal, before, clock }) {
  const until = clock.now() + PATIENCE_MS;
  for (;;) {
    const answer = await send();
    const wait = 1000 * (answer.problem?.retry_after_s ?? Infinity);
    if (answer.ok || isFinal(answer.problem) || clock.now() + wait > until) return answer;
    before(wait);
    await clock.pause(wait);
  }
}
