// A page whose call was refused for now sends it again at the time that the server named, but not
// for ever.

import assert from "node:assert/strict";
import { test } from "node:test";

import { patiently, PATIENCE_MS } from "../script/patience.js";

const away = (retry_after_s, code = "busy") => ({ ok: false, problem: { code, retry_after_s } });
const done = { ok: true };

/** Runs `patiently` with these answers in order, on a clock that moves only during waits. */
async function walk(answers) {
  let [at, sent] = [0, 0];
  const [waits, told] = [[], []];
  const answer = await patiently(async () => answers[Math.min(sent++, answers.length - 1)], {
    isFinal: ({ code }) => code === "waiting_room",
    before: (wait, problem) => (waits.push(wait), told.push(problem.code)),
    clock: { now: () => at, pause: async (ms) => void (at += ms) },
  });
  return { answer, at, sent, waits, told };
}

test("a call that is refused for now is sent again at the time that the server named", async () => {
  assert.deepEqual(await walk([away(3), away(1, "seats_not_ready"), done]), { answer: done, at: 4_000, sent: 3, waits: [3_000, 1_000], told: ["busy", "seats_not_ready"] });
  assert.deepEqual(await walk([done]), { answer: done, at: 0, sent: 1, waits: [], told: [] });
});

test("a refusal that waiting cannot change is returned at once", async () => {
  assert.equal((await walk([away(3, "waiting_room"), done])).sent, 1);
  assert.equal((await walk([{ ok: false, problem: { code: "seats_taken" } }, done])).sent, 1);
});

test("a wait that is too long is not begun, and repeated short waits end", async () => {
  assert.equal((await walk([away(PATIENCE_MS / 1000 + 1), done])).sent, 1);
  const never = await walk([away(3)]);
  assert.equal(never.answer.problem.code, "busy");
  assert.ok(never.at <= PATIENCE_MS && never.at > PATIENCE_MS - 3_000);
});
