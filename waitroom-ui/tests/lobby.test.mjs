// Holds the lobby's script to the same table of states as its page, and the socket's waits to their bounds.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { aheadOf, lobbyState } from "../script/lobby-state.js";
import { backoffMs, closeWaitMs } from "../script/live.js";

const table = JSON.parse(readFileSync(join(import.meta.dirname, "lobby-cases.json")));

test("every phase and state leads to the words the page shows", () => {
  for (const { room, place, state } of table.cases) assert.equal(lobbyState(room, place), state, JSON.stringify({ room, place }));
});

test("people ahead are never fewer than none", () => {
  assert.equal(aheadOf(10, 4), 6);
  assert.equal(aheadOf(3, 10), 0);
  assert.equal(aheadOf(null, 10), null);
});

test("a crowd comes back spread out, later after every failure, and never later than 45 s", () => {
  assert.ok(backoffMs(0, 0) >= 500 && backoffMs(0, 0.999) <= 1500);
  for (let failures = 0; failures < 20; failures++) assert.ok(backoffMs(failures, 0.999) <= 45_000);
  assert.ok(backoffMs(4, 0.5) > backoffMs(3, 0.5));
});

test("a restart's own hint is honoured, and a broken one becomes a spread wait", () => {
  assert.equal(closeWaitMs(1012, '{"retry_ms":2300}', 0.5), 2300);
  assert.equal(closeWaitMs(1012, "", 0.5), 3000);
  assert.equal(closeWaitMs(1012, '{"retry_ms":-5}', 0), 1000);
  assert.equal(closeWaitMs(1006, "", 0.5), null);
  assert.ok(closeWaitMs(1008, "", 0) >= 60_000);
});
