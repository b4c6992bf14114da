// Tests script/frames.js with the golden frames in wire/frames.json, with which the server is
// tested, too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { decode, Picture, seatState } from "../script/frames.js";

const golden = JSON.parse(readFileSync(join(import.meta.dirname, "../wire/frames.json")));
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));

for (const frame of golden.frames) {
  test(`a frame is read: ${frame.name}`, () => {
    const read = decode(bytes(frame.hex));
    assert.equal(read.kind, frame.kind);
    if (frame.kind === "snapshot") {
      assert.equal(String(read.version), frame.version);
      assert.deepEqual([...read.states], frame.states);
    } else {
      assert.equal(String(read.from), frame.from);
      assert.equal(String(read.to), frame.to);
      assert.deepEqual(read.changes, frame.changes);
    }
  });
}

for (const frame of golden.bad) test(`a frame is refused whole: ${frame.name}`, () => assert.throws(() => decode(bytes(frame.hex))));

const snapshot = (version, states) => ({ kind: "snapshot", version, states: Uint8Array.from(states) });
const delta = (from, to, changes) => ({ kind: "delta", from, to, changes });

test("a delta for this version changes the picture, and any other delta is a gap and changes nothing", () => {
  const picture = new Picture();
  assert.equal(picture.take(delta(1n, 2n, [[0, 1]])), "gap", "before any snapshot");
  assert.equal(picture.take(snapshot(5n, [0, 0, 0])), "all");
  assert.deepEqual(picture.take(delta(5n, 7n, [[0, 1], [2, 2]])), [0, 2]);
  assert.equal(picture.take(delta(8n, 9n, [[1, 2]])), "gap");
  assert.deepEqual([...picture.states], [1, 0, 2]);
  assert.equal(picture.version, 7n);
});

test("an old delta changes nothing, and a delta with an index out of range is a gap", () => {
  const picture = new Picture();
  picture.take(snapshot(5n, [0, 0]));
  assert.deepEqual(picture.take(delta(3n, 5n, [[0, 2]])), []);
  assert.equal(picture.take(delta(5n, 6n, [[2, 1]])), "gap");
  assert.deepEqual([...picture.states], [0, 0]);
});

test("a seat shows the worst state of its legs", () => {
  const states = Uint8Array.from([0, 1, 0, /* leg 1 */ 0, 0, 2]);
  assert.deepEqual([0, 1, 2].map((seat) => seatState(states, seat, 3)), [0, 1, 2]);
  const on = (legs) => [0, 1, 2].map((seat) => seatState(states, seat, 3, legs));
  assert.deepEqual([on([0, 1]), on([1, 2]), on([0, 2])], [[0, 1, 0], [0, 0, 2], [0, 1, 2]]);
});
