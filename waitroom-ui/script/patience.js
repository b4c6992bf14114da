// Sends a call again at the time that the server asks for. In a rush the server refuses calls and
// gives each page its own time to come back. The page keeps to that time, so nobody has to press
// the button again.

/**
 * For how long (milliseconds) a page sends its call again by itself. If the wait would be longer,
 * the refusal is shown and the visitor decides.
 */
export const PATIENCE_MS = 20_000;

/**
 * Sends a call until it succeeds, is refused for good, or would have to wait too long.
 * `isFinal(problem)` returns whether waiting does not help. `before(wait_ms, problem)` is called
 * before each wait. `clock` is `{ now(), pause(ms) }`.
 */
export async function patiently(send, { isFinal, before, clock }) {
  const until = clock.now() + PATIENCE_MS;
  for (;;) {
    const answer = await send();
    const wait = 1000 * (answer.problem?.retry_after_s ?? Infinity);
    if (answer.ok || isFinal(answer.problem) || clock.now() + wait > until) return answer;
    before(wait, answer.problem);
    await clock.pause(wait);
  }
}
