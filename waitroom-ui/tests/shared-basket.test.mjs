// What the page of a show does when another device of the visitor makes, changes or ends a basket:
// script/seats-shared.js and script/holds.js.

import assert from "node:assert/strict";
import { test } from "node:test";

const at = (seconds) => new Date(Date.now() + 1000 * seconds).toISOString();
const basket = (hold, labels, expires_at = at(300)) => ({ hold, purpose: "basket", state: "basket", seats: labels.map((label) => ({ label })), expires_at, server_time: at(0) });

const stored = {};
let answers = {};
const asked = [];
Object.assign(globalThis, {
  document: {
    documentElement: { classList: { add() {} }, lang: "en" },
    visibilityState: "visible",
    getElementById: () => ({ childElementCount: 0, append() {}, dataset: {} }),
    createElement: () => ({ setAttribute() {}, append() {} }),
  },
  fetch: async (path) => {
    asked.push(path);
    const answer = answers[path] ?? [404, { code: "not_found" }];
    const [status, body] = typeof answer === "function" ? answer() : answer;
    return { ok: status < 300, status, headers: new Map(), json: async () => body };
  },
});
Object.defineProperty(globalThis, "localStorage", {
  value: { getItem: (name) => stored[name] ?? null, setItem: (name, value) => (stored[name] = value), removeItem: (name) => delete stored[name] },
});
Object.defineProperty(globalThis, "navigator", { value: { cookieEnabled: true } });
const { atTheDoor } = await import("../script/entry.js");
const { basketNews } = await import("../script/holds.js");
const { SharedBasket } = await import("../script/seats-shared.js");

const LIST = "/v1/shows/night/holds";

/** A page that shows `hold`, or no basket, on a device whose place came from another one. */
function page(hold, { isShared = true, isBusy = false } = {}) {
  stored["fairgate.room.sale"] = JSON.stringify(isShared ? { arrived: true } : {});
  asked.length = 0;
  const told = [];
  const bar = {
    hold,
    isBusy: false,
    ordered: () => told.push("ordered"),
    endedElsewhere: () => (told.push("ended"), (bar.hold = null)),
    moveDeadline: (deadline) => told.push(`moved ${deadline}`),
    take: (one) => told.push(`taken ${one.seats.map(({ label }) => label)}`),
  };
  const shared = new SharedBasket({ show: "night", room: "sale", bar, isBusy: () => isBusy }, (one) => told.push(`found ${one.hold}`));
  return { shared, bar, told };
}

test("news of a basket are its appearance, its seats, its deadline and its end", () => {
  const [one, other] = [basket("h1", ["A-1"]), basket("h2", ["B-1"])];
  const news = (shown, holds, orders = []) => basketNews(shown, { holds, orders });
  assert.deepEqual(news(null, []), { found: undefined });
  assert.equal(news(null, [{ ...other, purpose: "offer" }, one]).found, one, "an offer is no basket");
  assert.deepEqual(news(one, [one]), {});
  assert.deepEqual(news(one, [{ ...one, expires_at: "later" }]), { moved: "later" });
  const more = basket("h1", ["A-1", "A-2"]);
  assert.deepEqual(news(basket("h1", ["A-2", "A-1"], more.expires_at), [more]), {}, "the order of the seats is no news");
  assert.deepEqual(news(one, [more]), { changed: more });
  assert.deepEqual(news(one, [other], [{ hold: "h1", order: "o1" }]), { ended: true, order: "o1", found: other });
});

test("a basket that another device has made is found, and is asked for only with two devices", async () => {
  answers = { [LIST]: [200, { holds: [basket("h1", ["A-1"])], orders: [] }] };
  const two = page(null);
  await two.shared.look();
  assert.deepEqual(two.told, ["found h1"]);
  const one = page(null, { isShared: false });
  await one.shared.look();
  assert.deepEqual([one.told, asked], [[], []]);
  const busy = page(null, { isBusy: true });
  await busy.shared.look();
  assert.deepEqual([busy.told, asked], [[], []]);
});

test("a basket that another device has given back ends, and one that still exists does not", async () => {
  answers = { [LIST]: [200, { holds: [], orders: [] }], "/v1/holds/h1": [410, { code: "hold_expired" }] };
  const ended = page(basket("h1", ["A-1"]));
  await ended.shared.look();
  assert.deepEqual(ended.told, ["ended"]);
  // A basket from an earlier place of this browser is not in the list of this place.
  answers["/v1/holds/h1"] = [200, basket("h1", ["A-1"])];
  const earlier = page(basket("h1", ["A-1"]));
  await earlier.shared.look();
  assert.deepEqual(earlier.told, []);
});

test("without a valid pass the page still learns that its basket has ended", async () => {
  answers = { [LIST]: [403, { code: "pass_expired" }], "/v1/holds/h1": [404, { code: "not_found" }] };
  const ended = page(basket("h1", ["A-1"]));
  await ended.shared.look();
  assert.deepEqual(ended.told, ["ended"]);
  answers = { [LIST]: [503, { code: "booking_unreachable" }], "/v1/holds/h1": [503, { code: "booking_unreachable" }] };
  const unknown = page(basket("h1", ["A-1"]));
  await unknown.shared.look();
  assert.deepEqual(unknown.told, []);
});

test("an order of another device is stored, so that the page can name it", async () => {
  answers = { [LIST]: [200, { holds: [], orders: [{ hold: "h1", order: "o1", order_key: "k" }] }] };
  const ordered = page(basket("h1", ["A-1"]));
  await ordered.shared.look();
  assert.deepEqual([ordered.told, stored["fairgate.ordered.h1"]], [["ended"], '"o1"']);
});

test("an order that cannot be read yet is no basket that was given back", async () => {
  answers = { [LIST]: [200, { holds: [], orders: [] }], "/v1/holds/h1": [200, { ...basket("h1", ["A-1"]), state: "ordered" }] };
  const ordered = page(basket("h1", ["A-1"]));
  await ordered.shared.look();
  assert.deepEqual(ordered.told, ["ordered"]);
});

/** Answers as a server of which another device has claimed the pass and made a basket. */
function claimedElsewhere(state) {
  let hasPass = false;
  const claim = () => {
    hasPass = true;
    return [201, { expires_at: "later" }];
  };
  answers = {
    [LIST]: () => (hasPass ? [200, { holds: [basket("h1", ["A-1"])], orders: [] }] : [429, { code: "waiting_room" }]),
    "/v1/rooms/sale/place": [200, { state }],
    "/v1/rooms/sale/pass": claim,
  };
  return { send: async () => (hasPass ? { ok: true } : { ok: false, problem: { code: "waiting_room" } }) };
}

test("a page without a pass gets the one that the other device claimed, and then finds the basket", async () => {
  claimedElsewhere("admitted");
  const late = page(null);
  await late.shared.look();
  assert.deepEqual(late.told, ["found h1"]);
  assert.equal(JSON.parse(stored["fairgate.room.sale"]).pass_until, "later");
  claimedElsewhere("called");
  const early = page(null);
  await early.shared.look();
  assert.deepEqual([early.told, asked.includes("/v1/rooms/sale/pass")], [[], false], "the page takes no turn by itself");
});

test("with the pass of another device nothing is held if that device has made a basket", async () => {
  page(null);
  const { send } = claimedElsewhere("admitted");
  assert.equal(await atTheDoor({ room: "sale" }, "", send, async () => true), null);
  const again = claimedElsewhere("admitted");
  assert.equal((await atTheDoor({ room: "sale" }, "", again.send, async () => false)).ok, true);
});

test("what this page did meanwhile is not undone by an older answer", async () => {
  answers = { [LIST]: [200, { holds: [basket("h1", ["A-1"])], orders: [] }] };
  const mine = page(null);
  const looking = mine.shared.look();
  mine.bar.hold = basket("h2", ["B-1"]);
  await looking;
  assert.deepEqual(mine.told, []);
});

test("seats that the other device took for this visitor are not said to be lost", async () => {
  answers = { [LIST]: [200, { holds: [basket("h1", ["A-1"])], orders: [] }] };
  const picker = (told) => ({ takenAmong: () => ["A-1"], dropTaken: () => told.push("dropped") });
  const two = page(null);
  await two.shared.dropTaken(picker(two.told), "all");
  assert.deepEqual(two.told, ["found h1", "dropped"], "the page clears the choice when it shows the basket");
  const one = page(null, { isShared: false });
  const dropping = one.shared.dropTaken(picker(one.told), "all");
  assert.deepEqual(one.told, ["dropped"], "with one device nothing is asked");
  await dropping;
});
