// The sums shown before a refund, and the body of the call, are for the same tickets.

import assert from "node:assert/strict";
import { test } from "node:test";

import { asked, sums } from "../script/refund-sums.js";

const eur = (amount) => ({ amount, currency: "EUR" });
const ticket = (name, amount, fee) => ({ ticket: name, seat: name, amount: eur(amount), fee: eur(fee) });
const offer = { amount: eur(1_500), fee: eur(300), tickets: [ticket("a", 900, 100), ticket("b", 600, 200)] };

test("all tickets are refunded unless some are unticked", () => {
  assert.deepEqual(sums(offer, new Set()), { amount: eur(1_500), fee: eur(300), going: 2 });
  assert.deepEqual(asked(offer, new Set()), { tickets: ["a", "b"] });
});

test("unticked tickets are neither refunded nor counted in the sums", () => {
  assert.deepEqual(sums(offer, new Set(["a"])), { amount: eur(600), fee: eur(200), going: 1 });
  assert.deepEqual(asked(offer, new Set(["a"])), { tickets: ["b"] });
  assert.equal(sums(offer, new Set(["a", "b"])).going, 0);
});

test("before tickets are made, the whole order is refunded", () => {
  const early = { ...offer, tickets: [] };
  assert.deepEqual(sums(early, new Set(["a"])), { amount: eur(1_500), fee: eur(300), going: 0 });
  assert.deepEqual(asked(early, new Set()), {});
  assert.deepEqual(asked(null, new Set()), {});
});
