// Tests the lobby's script with the same table of states as its page, and the bounds of the
// socket's waits.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { aheadOf, isNoneLeft, lobbyState, roomFetchMs } from "../script/lobby-state.js";
import { basketWords, countdownParts, countdownTarget, newlyGone, oddsWords, placesGiven, waitLeft, withSeatsLeft } from "../script/lobby-words.js";
import { backoffMs, closeWaitMs } from "../script/live.js";

const table = JSON.parse(readFileSync(join(import.meta.dirname, "lobby-cases.json")));

test("the script chooses the state that the page shows for every phase and place", () => {
  for (const { room, place, state } of table.cases) assert.equal(lobbyState(room, place, Date.parse(table.now)), state, JSON.stringify({ room, place }));
});

test("a visitor who may go in or is in is told that no seats are left, and only then", () => {
  const told = (phase) => ["waiting_sold_out", "called", "called_again", "called_late", "called_paused", "admitted", "done"].filter((state) => isNoneLeft({ phase }, state));
  assert.deepEqual(told("sold_out"), ["called", "called_again", "called_late", "admitted"]);
  assert.deepEqual(told("selling"), []);
});

test("the count of people ahead is never negative, and null without a turn", () => {
  assert.equal(aheadOf(10, 4), 6);
  assert.equal(aheadOf(3, 10), 0);
  assert.equal(aheadOf(null, 10), null);
});

test("the server's count of people ahead shrinks with the number of ranks ahead", () => {
  const told = { ahead: 10, gap: 100 };
  assert.equal(aheadOf(200, 100, told), 10);
  assert.equal(aheadOf(200, 150, told), 5);
  assert.equal(aheadOf(200, 199, told), 0);
  assert.equal(aheadOf(200, 250, told), 0);
  assert.equal(aheadOf(200, 90, told), 10, "the count never grows if the counter is older than the count");
  assert.equal(aheadOf(200, 100, { ahead: null, gap: null }), 100);
});

test("a page without a place fetches the room about every 15 s, and sooner before it opens or draws", () => {
  const [now, at] = [Date.parse("2027-06-01T20:00:00Z"), (ms) => new Date(Date.parse("2027-06-01T20:00:00Z") + ms).toISOString()];
  const wait = (room) => roomFetchMs(room, now, 0.5);
  assert.equal(wait({ opens_at: at(-60_000), draw_at: at(-30_000) }), 15_000, "during the sale");
  assert.equal(wait({ opens_at: at(-60_000), draw_at: null }), 15_000, "in a line without a draw");
  assert.equal(wait({ opens_at: at(600_000), draw_at: at(900_000) }), 15_000);
  assert.equal(wait({ opens_at: at(4_000), draw_at: at(9_000) }), 4_000);
  assert.equal(wait({ opens_at: at(-4_000), draw_at: at(9_000) }), 9_000);
  assert.equal(wait({ opens_at: at(-4_000), draw_at: at(10) }), 1_500);
  assert.deepEqual([0, 1].map((random) => Math.round(roomFetchMs({}, now, random))), [12_000, 18_000]);
});

test("waits before a reconnect are random, grow with each failure, and are at most 45 s", () => {
  assert.ok(backoffMs(0, 0) >= 500 && backoffMs(0, 0.999) <= 1500);
  for (let failures = 0; failures < 20; failures++) assert.ok(backoffMs(failures, 0.999) <= 45_000);
  assert.ok(backoffMs(4, 0.5) > backoffMs(3, 0.5));
});

test("a restart's retry_ms is used, and without a valid one the wait is random", () => {
  assert.equal(closeWaitMs(1012, '{"retry_ms":2300}', 0.5), 2300);
  assert.equal(closeWaitMs(1012, "", 0.5), 3000);
  assert.equal(closeWaitMs(1012, '{"retry_ms":-5}', 0), 1000);
  assert.equal(closeWaitMs(1006, "", 0.5), null);
  assert.ok(closeWaitMs(1008, "", 0) >= 60_000);
});

test("odds have words and a percent below 100, and are null without an estimate", () => {
  for (const { odds, key, pct } of table.odds) assert.deepEqual(oddsWords(odds), { key, pct });
  assert.equal(oddsWords(null), null);
  assert.equal(oddsWords(undefined), null);
});

test("the wait is read off the points of the newest frame, between them and beyond them", () => {
  const waits = { points: [[0, 1, 2], [10, 21, 42], [50, 61, 82]], few_seats_from: 80, unknown: null };
  const left = (ahead) => waitLeft(waits, { ahead, wait: { known: true, p50_s: 900, p90_s: 990 } });
  assert.deepEqual([0, 5, 10, 30, 60].map((ahead) => left(ahead).p50), [1, 11, 21, 41, 71]);
  assert.deepEqual(left(5), { p50: 11, p90: 22 });
  assert.equal(left(80), null, "hardly a seat will be left");
  assert.deepEqual(waitLeft({ points: [[0, 3, 4]], unknown: null }, { ahead: 7 }), { p50: 3, p90: 4 });
  assert.equal(waitLeft({ points: [], unknown: "paused" }, { ahead: 7 }), null);
});

test("before the first frame the wait is the one that came with the place", () => {
  const wait = { known: true, p50_s: 60.5, p90_s: 90, unknown: null };
  assert.deepEqual(waitLeft(undefined, { ahead: 50, wait }), { p50: 60.5, p90: 90 });
  const unknown = { known: false, p50_s: null, p90_s: null, unknown: "no_figures" };
  assert.equal(waitLeft(undefined, { ahead: null, wait: unknown }), null);
  assert.equal(waitLeft(undefined, { ahead: null }), null);
});

test("when all remaining seats are in baskets, the words say so and how many baskets run out", () => {
  assert.deepEqual(basketWords({ free: 0, held: 9, sold: 1, lapsing_5m: 7, baskets_5m: 3 }), { key: "all_in_baskets_some", n: 3 });
  assert.deepEqual(basketWords({ free: 0, held: 9, sold: 1, lapsing_5m: 0, baskets_5m: 0 }), { key: "all_in_baskets_none" });
  assert.deepEqual(basketWords({ free: 0, held: 9, sold: 1 }), { key: "all_in_baskets" });
  assert.deepEqual(basketWords({ free: 2, held: 9, sold: 1, lapsing_5m: 4, baskets_5m: 2 }), { key: "lapsing", n: 4 });
  assert.equal(basketWords({ free: 0, held: 0, sold: 10, lapsing_5m: 0 }), null);
  assert.equal(basketWords(undefined), null);
});

test("the count of places given never falls behind the newest frame or room", () => {
  assert.equal(placesGiven({ joined: 10 }, { joined: 14, released: 3, waiting: 9 }), 14);
  assert.equal(placesGiven({ joined: 10 }, { released: 3, waiting: 9 }), 12);
  assert.equal(placesGiven({ joined: 20 }, { released: 3, waiting: 9 }), 20, "visitors who left had a place, too");
});

test("the countdown runs to the opening, then to the draw or the sale, and ends with it", () => {
  const now = Date.parse("2027-06-01T20:00:00Z");
  const at = (s) => new Date(now + 1000 * s).toISOString();
  const room = { phase: "scheduled", commitment: "aa", method: "draw", opens_at: at(60), draw_at: at(3600) };
  assert.deepEqual(countdownTarget(room, now), { what: "opens", at: now + 60_000 });
  const open = { ...room, phase: "prequeue" };
  assert.deepEqual(countdownTarget(open, now), { what: "draw", at: now + 3_600_000 });
  assert.deepEqual(countdownTarget({ ...open, method: "fifo" }, now), { what: "sale", at: now + 3_600_000 });
  assert.deepEqual(countdownTarget({ ...open, draw_at: at(-1), draw_waits_until: at(30) }, now), { what: "draw", at: now + 30_000 });
  assert.equal(countdownTarget({ ...open, draw_at: at(-1) }, now), null, "the draw is due");
  assert.equal(countdownTarget({ ...open, phase: "selling" }, now), null);
  assert.equal(countdownTarget({ ...room, opens_at: "1970-01-01T00:00:00Z" }, now), null);
});

test("the countdown shows whole seconds, and hours only where there are any", () => {
  assert.deepEqual(countdownParts(59_001), { days: 0, clock: "01:00" });
  assert.deepEqual(countdownParts(3_723_000), { days: 0, clock: "1:02:03" });
  assert.deepEqual(countdownParts(90_000_000), { days: 1, clock: "1:00:00" });
  assert.deepEqual(countdownParts(-5), { days: 0, clock: "00:00" });
});

test("a line frame renews the seats left at each price, unless it belongs to other prices", () => {
  const prices = [{ label: "Balcony", free: 3 }, { label: "Stalls", free: 9 }];
  assert.deepEqual(withSeatsLeft(prices, [0, 8]).map(({ free }) => free), [0, 8]);
  assert.equal(withSeatsLeft(prices, [1]), prices);
  assert.equal(withSeatsLeft(prices, undefined), prices);
  assert.deepEqual(newlyGone(prices, withSeatsLeft(prices, [0, 8])), ["Balcony"]);
  assert.deepEqual(newlyGone(withSeatsLeft(prices, [0, 8]), withSeatsLeft(prices, [0, 8])), []);
  assert.deepEqual(newlyGone(undefined, prices), []);
});
