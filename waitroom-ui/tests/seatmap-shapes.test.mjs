// Tests how a train and a hall are drawn around their seats: script/seatmap-shapes.js, through
// script/geometry.js.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readGeometry } from "../script/geometry.js";
import { contains } from "../script/seatmap-outlines.js";

/** Returns a plan of sections, each a list of rows, each a list of points. */
function planOf(sections) {
  const plan = { x: [], y: [], runs: [], rows: [], areas: [], zones: [], categories: [], outlines: [], stage: null, focal: null, sections: sections.map((_, k) => String(k + 1)) };
  for (const [section, rows] of sections.entries()) {
    for (const points of rows) {
      plan.runs.push({ n: points.length, category: 0, section, row: plan.rows.length, prefix: `${section}-${plan.rows.length}-`, from: 1 });
      plan.rows.push({ label: String(plan.rows.length + 1) });
      plan.x.push(...points.map(([x]) => x));
      plan.y.push(...points.map(([, y]) => y));
    }
  }
  return { ...plan, count: plan.x.length, flags: new Uint8Array(plan.x.length) };
}

const carriage = (left) => [0, 24, 48].map((x) => [0, 20, 70, 90].map((y) => [left + x, y]));
const column = (points, k) => points.map((point) => point[k]);

test("each carriage has its seats, and no carriage touches the next", () => {
  const g = readGeometry(planOf([carriage(0), carriage(132), carriage(264)]), [], "train");
  assert.equal(g.outlines.length, 3);
  for (let i = 0; i < g.count; i++) {
    const around = g.outlines.filter(({ points }) => contains(points, g.x[i], g.y[i])).map(({ section }) => section);
    assert.deepEqual(around, [g.sectionOf[i]], `seat ${i}`);
  }
  const ends = g.outlines.map(({ points }) => [Math.min(...column(points, 0)), Math.max(...column(points, 0))]);
  assert.ok(ends[0][1] < ends[1][0] && ends[1][1] < ends[2][0]);
  for (const { points } of [...g.outlines, ...g.over]) assert.ok(points.flat().every(Number.isFinite));
});

test("a train has a nose at both ends, passages between its carriages, and lies within the map's bounds", () => {
  const g = readGeometry(planOf([carriage(0), carriage(132)]), [], "train");
  const [first, last] = g.outlines.map(({ points }) => points);
  const width = (points) => Math.max(...column(points, 0)) - Math.min(...column(points, 0));
  assert.ok(Math.min(...column(first, 0)) < -30 && Math.max(...column(last, 0)) > 210);
  assert.equal(Math.round(width(first)), Math.round(width(last)));
  assert.equal(g.under.length, 1);
  const passage = column(g.under[0].points, 0);
  assert.ok(Math.min(...passage) > 48 && Math.max(...passage) < 132);
  assert.ok(g.bounds.left <= Math.min(...column(first, 0)) && g.bounds.right >= Math.max(...column(last, 0)));
});

test("a train of one carriage with one row is drawn, too", () => {
  const g = readGeometry(planOf([[[[0, 0], [0, 20]]]]), [], "train");
  assert.ok(contains(g.outlines[0].points, 0, 10));
  assert.ok(g.over.every(({ points }) => points.flat().every(Number.isFinite)));
});

const hall = (rows) => [rows.map((y) => [0, 20, 40, 60].map((x) => [x, y]))];

test("the screen is in front of the first row, on whichever side that is, and within the walls", () => {
  for (const [rows, front] of [[[0, 24, 48], -1], [[48, 24, 0], 1]]) {
    const g = readGeometry(planOf(hall(rows)), [], "hall");
    const screen = column(g.stage.points, 1);
    assert.ok(front < 0 ? Math.max(...screen) < -20 : Math.min(...screen) > 68);
    const [walls] = g.under;
    for (const [x, y] of g.stage.points) assert.ok(contains(walls.points, x, y));
    for (let i = 0; i < g.count; i++) assert.ok(contains(walls.points, g.x[i], g.y[i]));
  }
});

test("a hall keeps the stage of its plan, and a hall without rows gets no screen", () => {
  const stage = { points: [[0, -60], [60, -60], [60, -40], [0, -40]] };
  assert.equal(readGeometry({ ...planOf(hall([0, 24])), stage }, [], "hall").stage, stage);
  assert.equal(readGeometry(planOf([]), [], "hall").stage, null);
});
