// The seats that are suggested when somebody takes a chosen one: script/seat-suggestion.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { suggestSeats } from "../script/seat-suggestion.js";

const [FREE, HELD] = [0, 1];

/** Builds rows of six seats, one unit apart, with an aisle after the third seat of each row. */
function hall(rows = 3) {
  const count = rows * 6;
  const row = (k) => Array.from({ length: 6 }, (_, n) => k * 6 + n);
  const g = {
    count,
    spacing: 1,
    x: Array.from({ length: count }, (_, i) => (i % 6) + (i % 6 > 2 ? 2 : 0)),
    y: Array.from({ length: count }, (_, i) => Math.floor(i / 6)),
    category: Array.from({ length: count }, () => 0),
    flags: Array.from({ length: count }, () => 0),
    inArea: Array.from({ length: count }, () => 0),
    sectionOf: Array.from({ length: count }, () => 0),
    runOf: Array.from({ length: count }, (_, i) => Math.floor(i / 6)),
    runs: Array.from({ length: rows }, (_, k) => ({ row: k })),
    sections: [{ rows: Array.from({ length: rows }, (_, k) => ({ seats: Uint32Array.from(row(k)) })) }],
  };
  return { g, states: Array.from({ length: count }, () => FREE) };
}

test("a party gets seats side by side that include the kept seat", () => {
  const { g, states } = hall();
  states[1] = HELD;
  assert.deepEqual(suggestSeats(g, states, { lost: [1], kept: [2] }), [7, 8]);
  states.fill(FREE);
  states[0] = HELD;
  assert.deepEqual(suggestSeats(g, states, { lost: [0], kept: [1] }), [1, 2]);
});

test("no block goes over an aisle or over a taken seat", () => {
  const { g, states } = hall(1);
  states[0] = HELD;
  assert.deepEqual(suggestSeats(g, states, { lost: [0], kept: [1, 2] }), [3, 4, 5]);
  states[4] = HELD;
  assert.deepEqual(suggestSeats(g, states, { lost: [0], kept: [1, 2] }), [1, 2, 3], "the nearest one, if no three are side by side");
});

test("a suggested seat has the category and the traits of the lost one", () => {
  const { g, states } = hall(2);
  states[1] = HELD;
  g.category[0] = g.category[2] = 1;
  g.flags[7] = 1;
  states.fill(HELD, 6, 9);
  assert.deepEqual(suggestSeats(g, states, { lost: [1], kept: [] }), [3], "the same row comes first");
  g.category.fill(1, 2);
  assert.equal(suggestSeats(g, states, { lost: [1], kept: [] }), null);
});

test("nothing is suggested if nothing is free", () => {
  const { g, states } = hall(1);
  states.fill(HELD);
  assert.equal(suggestSeats(g, states, { lost: [1], kept: [] }), null);
  assert.equal(suggestSeats(g, states, { lost: [1], kept: [0] }), null);
});
