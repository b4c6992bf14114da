// Tests script/seatmap-binary.js with the golden seat map in wire/, which booking makes, too, and
// the form in which the page uses it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { indexOf, readGeometry, seatAt, seatOf } from "../script/geometry.js";
import { decodeSeatMap } from "../script/seatmap-binary.js";

const wire = (name) => readFileSync(join(import.meta.dirname, "../wire", name));
const golden = JSON.parse(wire("seatmap.json"));
const bytes = () => new Uint8Array(wire("seatmap.bin"));

test("the binary seat map has the same seats as the JSON", () => {
  const plan = decodeSeatMap(bytes());
  const g = readGeometry(plan, []);
  assert.equal(plan.count, golden.seats.length);
  const half = plan.step / 2 + 1e-3;
  for (const [i, seat] of golden.seats.entries()) {
    const { label, section, row, number, accessible, companion, restricted_view } = seat;
    assert.deepEqual(seatOf(g, i), { label, section, row, number, accessible, companion, restricted_view });
    assert.equal(g.categories[g.category[i]].key, seat.category);
    assert.ok(Math.abs(g.x[i] - seat.x) <= half && Math.abs(g.y[i] - seat.y) <= half, `${label} is elsewhere`);
    assert.equal(indexOf(g, label), i);
  }
  assert.equal(indexOf(g, "nowhere"), undefined);
});

test("the binary seat map has the same areas, stage and outlines as the JSON", () => {
  const plan = decodeSeatMap(bytes());
  assert.deepEqual(plan.areas.map(({ label, first, capacity, center }) => ({ label, first, capacity, center })), golden.areas.map(({ label, first, capacity, center }) => ({ label, first, capacity, center })));
  assert.deepEqual(plan.stage, golden.stage ?? null);
  assert.deepEqual(plan.outlines.map(({ section, points }) => ({ section: plan.sections[section], points })), (golden.outlines ?? []).map(({ section, points }) => ({ section, points })));
});

test("a seat is found near its point, and seats of areas are not", () => {
  const g = readGeometry(decodeSeatMap(bytes()), []);
  for (const [i, seat] of golden.seats.entries()) if (!g.inArea[i]) assert.equal(seatAt(g, seat.x + 1, seat.y - 1, 5), i);
  assert.equal(seatAt(g, golden.areas[0].center.x, golden.areas[0].center.y, 5), -1);
});

/** Returns the golden map with another text, as the server would write it. */
function withText(change) {
  const old = bytes();
  const length = new DataView(old.buffer).getUint32(12, true);
  const text = JSON.parse(new TextDecoder().decode(old.subarray(16, 16 + length)));
  change(text);
  const written = new TextEncoder().encode(JSON.stringify(text));
  const rest = old.subarray(16 + length + (length % 2));
  const made = new Uint8Array(16 + written.length + (written.length % 2) + rest.length);
  made.set(old.subarray(0, 16));
  new DataView(made.buffer).setUint32(12, written.length, true);
  made.set(written, 16);
  made.set(rest, made.length - rest.length);
  return made;
}

test("a stage and outlines are read, and belong to their sections", () => {
  const points = [[0, 0], [40, 0], [40, 24]];
  const plan = decodeSeatMap(withText((text) => {
    text.sections = ["Left"];
    for (const run of text.runs) run.section = 0;
    text.stage = { label: "Stage", points };
    text.outlines = [{ section: 0, points }];
  }));
  const g = readGeometry(plan, []);
  assert.deepEqual(g.stage, { label: "Stage", points });
  assert.deepEqual(g.outlines, [{ section: 0, points, pad: 0 }]);
  assert.equal(g.sections[0].name, "Left");
});

test("a damaged seat map is refused as a whole", () => {
  const damaged = {
    empty: new Uint8Array(0),
    "cut short": bytes().subarray(0, -1),
    "too long": Uint8Array.from([...bytes(), 0]),
    "another format": bytes().with(0, 0x58),
    "a later version": bytes().with(4, 2),
    "more seats than it has": bytes().with(8, 11),
    "a text that is longer than the map": bytes().with(13, 0xff),
    "no JSON": bytes().with(16, 0x5b),
    "a run of an unknown category": withText((text) => (text.runs[0].category = 9)),
    "a run of an unknown section": withText((text) => (text.runs[0].section = 99)),
    "a run of an unknown row": withText((text) => (text.runs[0].row = 7)),
    "a run without numbers": withText((text) => delete text.runs[0].from),
    "runs of too few seats": withText((text) => text.runs.pop()),
    "an area after the last seat": withText((text) => (text.areas[0].capacity = 99)),
    "an outline of an unknown section": withText((text) => (text.outlines = [{ section: 99, points: [] }])),
  };
  for (const [what, map] of Object.entries(damaged)) assert.throws(() => decodeSeatMap(map), undefined, what);
});
