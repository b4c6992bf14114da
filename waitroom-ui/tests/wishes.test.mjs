// Tests what the lobby's form of wishes means, and in which order the wishes are tried at the turn.

import assert from "node:assert/strict";
import { test } from "node:test";
import { categoriesOf, fittedWish, isGone, labelsOfWish, limitOf, movedUp, plainWish, showsOnSale, takesWishes, titleOfWish, triesOf, wishesOf } from "../script/lobby-wish-plan.js";

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
  assert.equal(takesWishes(room, null), false);
  assert.equal(takesWishes(room, { state: "waiting" }), false, "a server that knows no wishes");
});

test("shows on sale come in the order in which they start, without those that sell nothing", () => {
  assert.deepEqual(shows.map((one) => one.show), ["matinee", "night"]);
  const over = [{ ...night, sales_ended: true }, { ...night, fate: "cancelled" }, { ...night, kind: "rail" }];
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
    { at: 2, show: "night", best: { quantity: 5 } },
  ]);
  assert.deepEqual(triesOf([{ show: "gone", quantity: 1 }, { quantity: 1, categories: ["crew"] }], shows), []);
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
