// Tests what the lobby's form of wishes means, and in which order the wishes are tried at the turn.

import assert from "node:assert/strict";
import { test } from "node:test";
import { categoriesOf, fittedWish, isGone, isRefusedForGood, labelsOfWish, limitOf, movedUp, plainWish, resendMs, showsOnSale, takesWishes, titleOfWish, TRIES_MAX, triesOf, triesWorthMaking, wishesOf, wishesThatCount } from "../script/lobby-wish-plan.js";

const price = (amount) => ({ amount, currency: "EUR" });
const stalls = { key: "stalls", label: "Stalls", price: price(9_900) };
const balcony = { key: "balcony", label: "Balcony", price: price(4_900) };
const floor = { key: "floor", label: "Floor", price: price(7_000) };
const show = (slug, starts_at, categories, more) => ({ show: slug, title: `The ${slug}`, kind: "seated", starts_at, categories, limits: { seats_per_visitor: 4 }, ...more });
const night = show("night", "2027-06-02T20:00:00Z", [stalls, { ...balcony, price: price(3_900) }], { limits: { seats_per_visitor: 6 } });
const matinee = show("matinee", "2027-06-02T14:00:00Z", [balcony, floor, { key: "crew", label: "Crew", price: null }]);
const shows = showsOnSale({ shows: [night, matinee], total: 2 });

test("wishes are stated by who waits or is called in a room with a line and prices", () => {
  const room = { phase: "selling", method: "draw", prices: [{ label: "Stalls" }] };
  const place = { state: "waiting", wishes: [] };
  assert.equal(takesWishes(room, place), true);
  assert.equal(takesWishes(room, { ...place, state: "called" }), true);
  for (const state of ["admitted", "done", "closed"]) assert.equal(takesWishes(room, { ...place, state }), false, state);
  for (const change of [{ method: "open" }, { phase: "closed" }, { prices: [] }, { prices: undefined }]) assert.equal(takesWishes({ ...room, ...change }, place), false, JSON.stringify(change));
  assert.equal(takesWishes(room, { ...place, wishes: null }), true, "a server that knows of none");
  assert.equal(takesWishes(room, null), false);
  assert.equal(takesWishes(room, { state: "waiting" }), false, "a server that knows no wishes");
});

test("the server's wishes count, and those of this browser only where the server knows of none", () => {
  const mine = { number: 7, wishes: [{ quantity: 2 }] };
  const told = [{ quantity: 3, odds: 0.4 }];
  assert.deepEqual(wishesThatCount({ number: 7, wishes: told }, mine), told);
  assert.deepEqual(wishesThatCount({ number: 7, wishes: [] }, mine), [], "they were removed elsewhere");
  assert.deepEqual(wishesThatCount({ number: 7, wishes: null }, mine), mine.wishes);
  assert.deepEqual(wishesThatCount({ number: 8, wishes: null }, mine), [], "they were for another place");
  assert.deepEqual(wishesThatCount({ number: 7, wishes: null }, null), []);
  assert.deepEqual(wishesThatCount({ number: 7 }, mine), [], "a server that knows no wishes");
  assert.deepEqual(wishesThatCount(null, mine), []);
});

test("wishes are forgotten only if they can never be kept for the place", () => {
  const problems = [[422, "invalid_field"], [422, "unknown_field"], [409, "already_claimed"], [410, "place_left"], [410, "room_closed"], [401, "place_invalid"], [403, "revoked"]];
  for (const [status, code] of problems) assert.equal(isRefusedForGood({ status, code }), true, code);
  const passing = [[422, "not_available"], [503, "seats_not_ready"], [0, "offline"], [500, "server"], [429, "too_many_requests"]];
  for (const [status, code] of passing) assert.equal(isRefusedForGood({ status, code }), false, code);
});

test("wishes that the server does not know are sent every 30 s, or when it asks for them", () => {
  assert.equal(resendMs(0), 30_000);
  assert.equal(resendMs(3, undefined), 30_000);
  assert.deepEqual([1, 2, 3, 4, 5, 6, 7].map((refusals) => resendMs(refusals, 1)), [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  assert.deepEqual([1, 2].map((refusals) => resendMs(refusals, 60)), [60_000, 60_000]);
});

test("shows on sale come in the order in which they start, without those that sell nothing", () => {
  assert.deepEqual(shows.map((one) => one.show), ["matinee", "night"]);
  const over = [{ ...night, sales_ended: true }, { ...night, fate: "cancelled" }, { ...night, state: "announced" }, { ...night, kind: "rail" }];
  assert.deepEqual(showsOnSale({ shows: over, total: 3 }), []);
  assert.deepEqual(showsOnSale({ shows: [night], total: 51 }), [], "a room with so many shows takes no wishes");
});

test("the limit is the show's own, or the highest of all shows", () => {
  assert.deepEqual([limitOf(shows, "matinee"), limitOf(shows, undefined), limitOf([], undefined)], [4, 6, 1]);
  assert.equal(limitOf([{ ...night, limits: { seats_per_visitor: 500 } }]), 50);
});

test("a category of several shows is one with all its prices, and has a price", () => {
  assert.deepEqual(categoriesOf(shows, undefined).map(({ key, from, to }) => [key, from, to]), [["balcony", 3_900, 4_900], ["floor", 7_000, 7_000], ["stalls", 9_900, 9_900]]);
  assert.deepEqual(categoriesOf(shows, "night").map(({ key, from }) => [key, from]), [["stalls", 9_900], ["balcony", 3_900]]);
});

test("the form's rows become wishes as short as the server writes them", () => {
  const rows = [
    { show: "night", quantity: 2, categories: ["balcony", "stalls"], accessible: 1 },
    { show: "", quantity: 3, categories: [], accessible: 0 },
  ];
  assert.deepEqual(wishesOf(rows, shows), [{ show: "night", quantity: 2, categories: ["stalls", "balcony"], accessible: 1 }, { quantity: 3 }]);
  assert.deepEqual(wishesOf([...rows, rows[1], rows[0]], shows).length, 2, "the same wish counts once");
  const four = [1, 2, 3, 4].map((quantity) => ({ quantity }));
  assert.deepEqual(wishesOf(four, shows).map(({ quantity }) => quantity), [1, 2, 3]);
  assert.deepEqual(plainWish({ quantity: 2, categories: ["stalls"], accessible: 0, odds: 0.4 }), { quantity: 2, categories: ["stalls"] });
});

test("a wish is fitted to the shows that are on sale now", () => {
  assert.deepEqual(fittedWish({ show: "matinee", quantity: 9, categories: ["stalls", "floor"], accessible: 12 }, shows), { show: "matinee", quantity: 4, categories: ["floor"], accessible: 4 });
  assert.deepEqual(fittedWish({ show: "gone", quantity: 0 }, shows), { quantity: 1 });
});

test("a choice moves up by one, and the first one stays", () => {
  assert.deepEqual(movedUp(["a", "b", "c"], 2), ["a", "c", "b"]);
  assert.deepEqual(movedUp(["a", "b", "c"], 1), ["b", "a", "c"]);
  assert.deepEqual(movedUp(["a", "b"], 0), ["a", "b"]);
});

test("wishes are tried in order, and a wish for any show at each show that has such seats", () => {
  const wishes = [{ show: "night", quantity: 2, categories: ["stalls"], accessible: 1 }, { quantity: 2, categories: ["balcony", "floor"] }, { quantity: 5 }];
  assert.deepEqual(triesOf(wishes, shows), [
    { at: 0, show: "night", best: { quantity: 2, categories: ["stalls"], accessible: 1 } },
    { at: 1, show: "matinee", best: { quantity: 2, categories: ["balcony", "floor"] } },
    { at: 1, show: "night", best: { quantity: 2, categories: ["balcony"] } },
    { at: 2, show: "night", best: { quantity: 5, categories: ["stalls", "balcony"] } },
  ]);
  assert.deepEqual(triesOf([{ show: "gone", quantity: 1 }, { quantity: 1, categories: ["crew"] }], shows), []);
});

test("a wish without categories asks for all that its show sells, so that standing places count", () => {
  assert.deepEqual(triesOf([{ show: "matinee", quantity: 2, accessible: 1 }], shows), [{ at: 0, show: "matinee", best: { quantity: 2, categories: ["balcony", "floor"], accessible: 1 } }]);
  assert.deepEqual(triesOf([{ quantity: 2, categories: [] }], shows).map(({ best }) => best.categories), [["balcony", "floor"], ["stalls", "balcony"]]);
  const unknown = [{ ...night, categories: undefined }, { ...matinee, categories: [] }];
  assert.deepEqual(triesOf([{ quantity: 2 }], unknown), [{ at: 0, show: "night", best: { quantity: 2 } }, { at: 0, show: "matinee", best: { quantity: 2 } }], "none are named where none are known");
});

test("tries for categories without free seats are left out, unless no other is left", () => {
  const tries = triesOf([{ quantity: 2, categories: ["balcony"] }, { show: "night", quantity: 2, categories: ["stalls"] }, { show: "matinee", quantity: 2 }], shows);
  const made = (...gone) => triesWorthMaking(tries, shows, gone.map((label) => ({ label, currency: "EUR", free: 0 }))).map(({ at, show: slug }) => `${at} ${slug}`);
  const all = ["0 matinee", "0 night", "1 night", "2 matinee"];
  assert.deepEqual(made(), all);
  assert.deepEqual(made("Balcony"), ["1 night", "2 matinee"], "one of two categories is left at the matinee");
  assert.deepEqual(made("Stalls", "Floor"), ["0 matinee", "0 night", "2 matinee"]);
  assert.deepEqual(made("Balcony", "Floor"), ["1 night"]);
  assert.deepEqual(made("Balcony", "Stalls", "Floor"), all, "all are tried where all seem gone");
  assert.deepEqual(triesWorthMaking(tries, shows, undefined), tries);
  const unknown = [{ at: 0, show: "night", best: { quantity: 2 } }];
  assert.deepEqual(triesWorthMaking([...unknown, tries[2]], shows, [{ label: "Stalls", currency: "EUR", free: 0 }]), unknown, "what names no category may be free");
});

test("one tap makes only so many tries", () => {
  const many = Array.from({ length: 30 }, (_, n) => show(`night-${n}`, "2027-06-02T20:00:00Z", [n < 5 ? stalls : floor]));
  const tries = triesOf([{ quantity: 2 }], many);
  assert.equal(triesWorthMaking(tries, many, []).length, TRIES_MAX);
  const gone = [{ label: "Stalls", currency: "EUR", free: 0 }];
  assert.deepEqual(triesWorthMaking(tries, many, gone).map((one) => one.show), many.slice(5, 15).map((one) => one.show));
});

test("wishes name their categories and shows, and an unknown one stands for itself", () => {
  assert.deepEqual(labelsOfWish({ categories: ["floor", "pit"] }, shows), ["Floor", "pit"]);
  assert.deepEqual(labelsOfWish({}, shows), []);
  assert.deepEqual([titleOfWish({ show: "night" }, shows), titleOfWish({ show: "gone" }, shows), titleOfWish({}, shows)], ["The night", "gone", null]);
});

test("a category without free seats is marked by the room's prices", () => {
  const prices = [{ label: "Stalls", currency: "EUR", free: 0 }, { label: "Floor", currency: "EUR", free: 3 }];
  assert.deepEqual(categoriesOf(shows).map((one) => isGone(one, prices)), [false, false, true]);
  assert.equal(isGone({ label: "Stalls", currency: "EUR" }, undefined), false);
});
