// A page that was sent away comes back at the time it was given, and not for ever.

import assert from "node:assert/strict";
import { test } from "node:test";

import { patiently, PATIENCE_MS } from "../script/patience.js";

const away = (retry_after_s, code = "busy") => ({ ok: false, problem: { code, retry_after_s } });
const done = { ok: true };

/** Sends `answers` one after another by a clock that moves only when somebody waits. */
async function walk(answers) {
  let [at, sent] = [0, 0];
  const waits = [];
  const answer = await patiently(async () => answers[Math.min(sent++, answers.length - 1)], {
    isFinal: ({ code }) => code === "waiting_room",
    before: (wait) => waits.push(wait),
    clock: { now: () => at, pause: async (ms) => void (at += ms) },
  });
  return { answer, at, sent, waits };
}

test("whoever is sent away comes back at the time that was told", async () => {
  assert.deepEqual(await walk([away(3), away(1), done]), { answer: done, at: 4_000, sent: 3, waits: [3_000, 1_000] });
  assert.deepEqual(await walk([done]), { answer: done, at: 0, sent: 1, waits: [] });
});

test("what no waiting changes is told at once", async () => {
  assert.equal((await walk([away(3, "waiting_room"), done])).sent, 1);
  assert.equal((await walk([{ ok: false, problem: { code: "seats_taken" } }, done])).sent, 1);
});

test("a long wait is not begun, and many short ones end", async () => {
  assert.equal((await walk([away(PATIENCE_MS / 1000 + 1), done])).sent, 1);
  const never = await walk([away(3)]);
  assert.equal(never.answer.problem.code, "busy");
  assert.ok(never.at <= PATIENCE_MS && never.at > PATIENCE_MS - 3_000);
});
