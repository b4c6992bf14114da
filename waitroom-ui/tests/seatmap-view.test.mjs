// Tests what the seat map shows and in which colours: script/seatmap-view.js, seatmap-outlines.js,
// seatmap-colours.js and seatmap-sprites.js.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FREE } from "../script/frames.js";
import { contrast, inkOn, mix, readable } from "../script/seatmap-colours.js";
import { contains, convexHull, crosses, outlinesOf } from "../script/seatmap-outlines.js";
import { pixelOf, Sprites } from "../script/seatmap-sprites.js";
import { between, kept, viewOf, wholeView, zoomed } from "../script/seatmap-view.js";

const size = { width: 400, height: 300 };
const bounds = { left: 0, top: 0, right: 2000, bottom: 1000 };
const g = { bounds, spacing: 20, areas: [] };

test("the whole plan is within the map", () => {
  const { scale, x, y } = wholeView(g, size);
  for (const [px, py] of [[0, 0], [2000, 1000]]) {
    assert.ok(px * scale + x >= 0 && px * scale + x <= 400 && py * scale + y >= 0 && py * scale + y <= 300);
  }
});

test("few seats are not made larger than a finger needs", () => {
  assert.equal(wholeView({ bounds: { left: 0, top: 0, right: 40, bottom: 20 }, spacing: 20, areas: [] }, size).scale, 1.5);
});

test("zooming keeps the point under the fingers and stays within its limits", () => {
  const from = { scale: 0.5, x: 10, y: 20 };
  const to = zoomed(from, 2, 100, 50, 0.1, 20);
  assert.equal(to.scale, 1);
  assert.equal((100 - to.x) / to.scale, (100 - from.x) / from.scale);
  assert.equal(zoomed(from, 0.001, 0, 0, 0.1, 20).scale, 0.1);
  assert.equal(zoomed(from, 1000, 0, 0, 0.1, 20).scale, 2.3);
});

test("the plan cannot be moved out of the map", () => {
  const far = kept({ scale: 1, x: 9999, y: -9999 }, bounds, size);
  assert.deepEqual(far, { scale: 1, x: 200, y: -850 });
});

test("a flight begins and ends at its views, and never looks beside the way", () => {
  const [from, to] = [viewOf(bounds, size, 20), viewOf({ left: 1800, top: 900, right: 2000, bottom: 1000 }, size, 20)];
  for (const [share, view] of [[0, from], [1, to]]) for (const k of ["scale", "x", "y"]) assert.ok(Math.abs(between(from, to, share, size)[k] - view[k]) < 1e-6);
  const middle = (view) => (200 - view.x) / view.scale;
  let before = middle(from);
  for (let share = 0.1; share < 1; share += 0.1) {
    const now = middle(between(from, to, share, size));
    assert.ok(now >= before && now <= middle(to) + 1e-6);
    before = now;
  }
});

test("every colour becomes readable on light and on dark ground, and good ones stay", () => {
  for (const ground of ["#ffffff", "#f1f3f4", "#1b1e23", "#000000"]) {
    for (const colour of ["#f4d03f", "#ffffff", "#000000", "#123456", "#56b4e9", "#808080"]) assert.ok(contrast(readable(colour, [ground]), ground) >= 3, `${colour} on ${ground}`);
  }
  assert.equal(readable("#0072b2", ["#ffffff"]), "#0072b2");
  assert.equal(contrast("#000000", "#ffffff"), 21);
  assert.equal(inkOn("#123456"), "#ffffff");
  assert.equal(mix("#000000", "#ffffff", 0.2), "#333333");
});

test("a seat has its own category's colour on every ground, however many categories there are", () => {
  const colours = Array.from({ length: 200 }, (_, k) => `#0000${k.toString(16).padStart(2, "0")}`);
  const look = { categories: colours, grounds: ["#ffffff", ...colours] };
  const sprites = new Sprites(0.5, look);
  for (const ground of [0, 1, 2, 200]) colours.forEach((colour, k) => assert.deepEqual([...sprites.of(FREE, k, 0, 0, ground)], [pixelOf(colour)]));
});

/** Returns a plan of one section whose rows have these seats. */
function planOf(rows) {
  const points = rows.flat();
  let at = 0;
  const made = rows.map((row) => ({ seats: row.map(() => at++) }));
  return { spacing: 20, x: points.map(([x]) => x), y: points.map(([, y]) => y), sections: [{ name: "", rows: made, seats: points.map((_, i) => i) }] };
}
const outline = (rows) => outlinesOf(planOf(rows), { outlines: [], sections: [] })[0].points;

test("the outline of rows follows their ends, also of rows that are numbered the other way", () => {
  const one = outline([[[0, 0], [100, 0]], [[90, 20], [10, 20]], [[0, 40], [100, 40]]]);
  assert.deepEqual(one, [[0, 0], [100, 0], [90, 20], [100, 40], [0, 40], [10, 20]]);
});

test("the outline of curved rows does not fill the curve", () => {
  const arc = (r) => Array.from({ length: 19 }, (_, k) => [r * Math.cos((k * Math.PI) / 18), r * Math.sin((k * Math.PI) / 18)]);
  const points = outline([arc(100), arc(120), arc(140)]);
  assert.ok(contains(points, 0, 120));
  assert.ok(!contains(points, 0, 50));
});

test("the outline of rows beside each other is convex and has all of them", () => {
  const row = (x) => [[x, 0], [x, 20], [x, 40]];
  const points = outline([row(0), row(200), row(80), row(280), row(120)]);
  assert.deepEqual(points, convexHull(points));
  for (const x of [81, 121, 199]) assert.ok(contains(points, x, 20));
});

test("a line crosses the boxes at its sides, and not a box inside it or away from it", () => {
  const square = [[0, 0], [100, 0], [100, 100], [0, 100]];
  const box = (x, y) => ({ left: x, top: y, right: x + 10, bottom: y + 10 });
  assert.ok(crosses(square, box(-5, 50), 0));
  assert.ok(!crosses(square, box(40, 40), 0));
  assert.ok(!crosses(square, box(104, 40), 0));
  assert.ok(crosses(square, box(104, 40), 5));
});
