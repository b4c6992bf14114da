// Holds the lobby's script to the same table of states as its page, and the socket's waits to their
// bounds.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { aheadOf, lobbyState } from "../script/lobby-state.js";
import { basketWords, oddsWords, placesGiven, waitLeft } from "../script/lobby-words.js";
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

test("people ahead are people and not empty ranks: the server's count shrinks with the gap", () => {
  const told = { ahead: 10, gap: 100 };
  assert.equal(aheadOf(200, 100, told), 10);
  assert.equal(aheadOf(200, 150, told), 5);
  assert.equal(aheadOf(200, 199, told), 0);
  assert.equal(aheadOf(200, 250, told), 0);
  assert.equal(aheadOf(200, 90, told), 10, "a count that is older than the counter never grows");
  assert.equal(aheadOf(200, 100, { ahead: null, gap: null }), 100);
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

test("odds are told in words and percent, never as certain, and not where they are not estimated", () => {
  for (const { odds, key, pct } of table.odds) assert.deepEqual(oddsWords(odds), { key, pct });
  assert.equal(oddsWords(null), null);
  assert.equal(oddsWords(undefined), null);
});

test("the wait is an interval that shrinks with the people ahead, and by the clock where nobody is", () => {
  const room = { phase: "selling", per_s: 2 };
  const place = { ahead: 50, wait_ahead: 100, wait: { known: true, p50_s: 60.5, p90_s: 90 } };
  assert.deepEqual(waitLeft(room, place, 10), { p50: 30.25, p90: 45 });
  assert.deepEqual(waitLeft(room, { ...place, ahead: 0, wait_ahead: 0 }, 60), { p50: 0.5, p90: 30 });
  assert.deepEqual(waitLeft(room, place, 120), { about: 25 }, "what was told too long ago gives way to the pace");
  assert.deepEqual(waitLeft(room, { ahead: 50, wait: { known: false, p50_s: null, p90_s: null } }, 0), { about: 25 });
  assert.equal(waitLeft({ phase: "prequeue", per_s: 2 }, { ahead: null }, 0), null);
});

test("when all remaining seats are in baskets the page says so, and how many run out", () => {
  assert.deepEqual(basketWords({ free: 0, held: 9, sold: 1, lapsing_5m: 7, baskets_5m: 3 }), { key: "all_in_baskets_some", n: 3 });
  assert.deepEqual(basketWords({ free: 0, held: 9, sold: 1, lapsing_5m: 0, baskets_5m: 0 }), { key: "all_in_baskets_none" });
  assert.deepEqual(basketWords({ free: 0, held: 9, sold: 1 }), { key: "all_in_baskets" });
  assert.deepEqual(basketWords({ free: 2, held: 9, sold: 1, lapsing_5m: 4, baskets_5m: 2 }), { key: "lapsing", n: 4 });
  assert.equal(basketWords({ free: 0, held: 0, sold: 10, lapsing_5m: 0 }), null);
  assert.equal(basketWords(undefined), null);
});

test("places given follow the line, whoever joins after the room was told", () => {
  assert.equal(placesGiven({ joined: 10 }, { joined: 14, released: 3, waiting: 9 }), 14);
  assert.equal(placesGiven({ joined: 10 }, { released: 3, waiting: 9 }), 12);
  assert.equal(placesGiven({ joined: 20 }, { released: 3, waiting: 9 }), 20, "who left had a place, too");
});
