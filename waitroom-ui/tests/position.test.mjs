// Tests what screen readers say of the position in the line.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const words = JSON.parse(readFileSync(join(import.meta.dirname, "../text/en.json")));
const said = [];
const say = { childElementCount: 0, append: ({ text }) => said.push(text) };
const elements = { texts: { textContent: JSON.stringify(words), dataset: {} }, data: { textContent: '{"room": {}}' }, say };
globalThis.document = {
  documentElement: { classList: { add() {} }, lang: "en" },
  getElementById: (id) => elements[id] ?? null,
  createElement: () => ({ append() {}, set textContent(text) { this.text = text; } }),
};
Object.defineProperty(globalThis, "navigator", { value: {} });
const { tellPosition } = await import("../script/lobby-position.js");

const waits = (p50) => ({ points: [[0, p50, 2 * p50]], unknown: null });
const room = { phase: "selling", method: "fifo" };

test("the position is announced again only if its words have changed, and with the wait", (context) => {
  context.mock.timers.enable({ apis: ["Date", "setTimeout"], now: Date.parse("2027-01-10T09:00:00Z") });
  context.mock.method(performance, "now", () => Date.now());
  const tell = (ahead, p50, more = {}) => {
    tellPosition({ room, place: { state: "waiting", ahead, ...more }, line: { waits: waits(p50), seats: { free: 9 } }, skewMs: 0 });
    context.mock.timers.tick(31_000);
    return said.splice(0);
  };
  const [first] = tell(4, 100);
  assert.ok(first.startsWith("4 people ahead of you."), first);
  assert.ok(first.includes("about 2 min"), first);
  assert.deepEqual(tell(4, 100), [], "the same words");
  const [longer] = tell(4, 600);
  assert.ok(longer.includes("about 10 min"), longer);
  assert.equal(tell(3, 600).length, 1);
  assert.deepEqual(tell(3, 900, { state: "called", claim_before: null }), [], "whoever is called has no position");
  assert.deepEqual(tell(null, 900), [], "the position is not known");
});
