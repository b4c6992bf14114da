// The bar of a hold while another tab or the live socket changes the hold: script/seats-held.js.

import assert from "node:assert/strict";
import { test } from "node:test";

const NOW = Date.parse("2027-01-10T09:00:00Z");
const at = (seconds) => new Date(NOW + 1000 * seconds).toISOString();
const held = { hold: "hold_1", seats: [{ label: "A-1" }, { label: "A-2" }], expires_at: at(300), extensions_left: 2, server_time: at(0) };

/** An element that takes whatever the scripts do to it. */
class Element {
  dataset = {};
  textContent = "";
  children = [];
  addEventListener() {}
  setAttribute(name, value) {
    this[name] = value;
  }
  removeAttribute(name) {
    delete this.dataset[name.replace("data-", "")];
  }
  append(...children) {
    this.children.push(...children);
  }
  replaceChildren(...children) {
    this.children = children;
  }
  contains() {
    return false;
  }
  focus() {}
  scrollIntoView() {}
  getClientRects() {
    return [];
  }
}

/** A storage whose entries are its own keys, as in a browser. */
class Stored {
  getItem(name) {
    return this[name] ?? null;
  }
  setItem(name, value) {
    this[name] = value;
  }
  removeItem(name) {
    delete this[name];
  }
}

const elements = new Map();
const listeners = [];
Object.assign(globalThis, {
  document: {
    documentElement: { classList: { add() {} }, lang: "en" },
    getElementById: (id) => elements.get(id) ?? elements.set(id, new Element()).get(id),
    createElement: () => new Element(),
    addEventListener() {},
  },
  addEventListener: (_, listener) => listeners.push(listener),
  matchMedia: () => ({ matches: true }),
});
globalThis.navigator ??= {};
Object.defineProperty(globalThis, "localStorage", { value: new Stored() });
document.getElementById("data").textContent = JSON.stringify({ room: { room: "room", method: "fifo" } });
const { data } = await import("../script/core.js");
const { releasedProblem } = await import("../script/holds.js");
const { HeldBar } = await import("../script/seats-held.js");
const { seatsOfOrder } = await import("../script/seats-ordered.js");

/** Stores or removes an entry as another tab does. */
function fromOtherTab(key, newValue) {
  if (newValue === null) localStorage.removeItem(key);
  else localStorage.setItem(key, newValue);
  for (const listener of listeners) listener({ key, newValue });
}

/** Runs a test at `NOW` with the bar of a hold. `changed` has the labels that the bar told last. */
function withBar(name, run) {
  test(name, (context) => {
    context.mock.timers.enable({ apis: ["Date", "setInterval"], now: NOW });
    const told = { changed: null, ended: false };
    const bar = new HeldBar("show", "room", { changed: (labels) => (told.changed = labels), ended: () => (told.ended = true), refused() {} });
    bar.take(held);
    run({ bar, told, tick: (seconds) => context.mock.timers.tick(1000 * seconds) });
    bar.clock.stop();
    listeners.length = 0;
  });
}

withBar("a moved deadline keeps an unsaved change of the seats", ({ bar, told }) => {
  bar.beginChange();
  bar.toggle("A-1");
  bar.toggle("B-7");
  bar.signalled({ hold: "hold_1", state: "short", expires_at: at(600) });
  assert.deepEqual(told.changed, ["A-2", "B-7"]);
  assert.deepEqual([[...bar.change.remove], [...bar.change.add]], [["A-1"], ["B-7"]]);
});

withBar("a moved deadline is counted by the server's clock", ({ bar, told, tick }) => {
  tick(200);
  bar.signalled({ hold: "hold_1", state: "short", expires_at: at(600) });
  assert.equal(bar.clock.until, NOW + 600_000);
  tick(399);
  assert.equal(told.ended, false);
  tick(2);
  assert.equal(told.ended, true);
});

withBar("a basket that runs out warns that the next one may end the turn, in a room with a line", ({ tick }) => {
  elements.get("problem").dataset.code = undefined;
  const warning = document.getElementById("lapse-again");
  warning.hidden = true;
  tick(301);
  assert.deepEqual([elements.get("problem").dataset.code, warning.hidden], ["hold_expired", false]);
});

withBar("a basket that runs out warns of nothing in a room without a line", ({ tick }) => {
  const { method } = data.room;
  data.room.method = "open";
  const warning = document.getElementById("lapse-again");
  warning.hidden = true;
  tick(301);
  assert.equal(warning.hidden, true);
  data.room.method = method;
});

withBar("whoever has read that the turn is over is not told to choose again", ({ told, tick }) => {
  elements.get("problem").dataset.code = "pass_ended";
  document.getElementById("lapse-again").hidden = true;
  tick(301);
  assert.deepEqual([told.ended, elements.get("problem").dataset.code, elements.get("lapse-again").hidden], [true, "pass_ended", true]);
  elements.get("problem").dataset.code = undefined;
});

test("only seats on a train may have ended because the train got other stops", () => {
  const causes = [{ journey: { from: "a" } }, {}, undefined].map((hold) => releasedProblem(hold)[1].cause);
  assert.deepEqual(causes, ["common.train_restopped", "common.server_restarted", "common.server_restarted"]);
});

withBar("a hold that another tab extends does not end at its old deadline", ({ bar, told, tick }) => {
  const extended = JSON.stringify({ ...bar.hold, expires_at: at(600), extensions_left: 1 });
  bar.beginChange();
  bar.toggle("A-1");
  fromOtherTab("fairgate.hold.hold_1", extended);
  tick(301);
  assert.equal(told.ended, false);
  assert.equal(localStorage.getItem("fairgate.hold.hold_1"), extended);
  assert.deepEqual(told.changed, ["A-2"]);
  tick(300);
  assert.equal(told.ended, true);
});

withBar("a hold that another tab gives back ends at once", ({ told }) => {
  fromOtherTab("fairgate.hold.hold_1", null);
  assert.equal(told.ended, true);
  assert.equal(elements.get("problem").dataset.code, "hold_released");
});

withBar("a hold that ended at the server before its time does not count as run out", ({ bar, told }) => {
  bar.refused({ code: "hold_expired", status: 410 });
  assert.equal(told.ended, true);
  assert.equal(elements.get("problem").dataset.code, "hold_released");
});

test("a page that is looked at finds out that its hold has ended, or its show is cancelled", async () => {
  const told = { ended: 0 };
  const bar = new HeldBar("show", "room", { changed() {}, ended: () => (told.ended += 1), refused() {} });
  document.visibilityState = "visible";
  const answers = [
    [200, { hold: "hold_1", state: "basket" }, undefined],
    [410, { code: "hold_expired", status: 410 }, "hold_released"],
    [409, { code: "show_cancelled", status: 409 }, "show_cancelled"],
  ];
  for (const [status, body, code] of answers) {
    elements.get("problem").dataset.code = undefined;
    bar.take({ ...held, expires_at: new Date(Date.now() + 300_000).toISOString(), server_time: new Date().toISOString() });
    globalThis.fetch = async () => new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
    await bar.look();
    assert.equal(elements.get("problem").dataset.code, code);
  }
  assert.equal(told.ended, 2);
  document.visibilityState = undefined;
  clearInterval(bar.looking);
});

withBar("a hold that another tab orders is told with a link, and no longer as a basket", ({ told }) => {
  elements.get("problem").dataset.code = "held_elsewhere";
  localStorage.setItem("fairgate.ordered.hold_1", '"order_1"');
  fromOtherTab("fairgate.hold.hold_1", null);
  assert.equal(told.ended, true);
  assert.equal(elements.get("problem").dataset.code, undefined);
  const [line] = elements.get("ordered").children;
  assert.equal(line.children.at(-1).href, "/o/order_1");
  assert.equal(elements.get("say").children.length, 1);
  localStorage.removeItem("fairgate.ordered.hold_1");
});

test("an order has its seats until it ends, but for those that were given back", () => {
  const seats = [{ label: "A-1" }, { label: "A-2", refunded: true }];
  assert.deepEqual(seatsOfOrder({ state: "pending", seats }), ["A-1"]);
  assert.deepEqual(seatsOfOrder({ state: "ticketed", seats }), ["A-1"]);
  for (const state of ["expired", "cancelled", "refunded"]) assert.deepEqual(seatsOfOrder({ state, seats }), [], state);
});

withBar("the last extension leaves the space of its button empty", ({ bar, tick }) => {
  const extend = elements.get("extend");
  tick(181);
  bar.take({ ...held, expires_at: at(290), extensions_left: 0, server_time: at(181) });
  assert.deepEqual([extend.hidden, extend.dataset.offered], [false, "false"]);
  bar.take({ ...held, hold: "hold_2", extensions_left: 0 });
  assert.equal(extend.hidden, true, "a hold that never had more time has no such button");
});

withBar("more time is offered in the last two minutes only, and again after an extension", ({ bar, tick }) => {
  const offered = () => elements.get("extend").dataset.offered;
  tick(179);
  assert.notEqual(offered(), "true");
  tick(2);
  assert.equal(offered(), "true");
  bar.take({ ...held, expires_at: at(481), extensions_left: 1, server_time: at(181) });
  assert.equal(offered(), "false");
  tick(181);
  assert.equal(offered(), "true");
});
