// The sums shown before a refund, and the body of the call, are for the same tickets.

import assert from "node:assert/strict";
import { test } from "node:test";

import { asked, lead, sums } from "../script/refund-sums.js";

const eur = (amount) => ({ amount, currency: "EUR" });
const ticket = (name, amount, fee) => ({ ticket: name, seat: name, amount: eur(amount), fee: eur(fee) });
const offer = { amount: eur(1_500), fee: eur(300), tickets: [ticket("a", 900, 100), ticket("b", 600, 200)] };

test("no ticket is refunded unless it was ticked", () => {
  assert.deepEqual(sums(offer, new Set()), { amount: eur(0), fee: eur(0), going: 0 });
  assert.deepEqual(asked(offer, new Set()), { tickets: [] });
});

test("only ticked tickets are refunded and counted in the sums", () => {
  assert.deepEqual(sums(offer, new Set(["b"])), { amount: eur(600), fee: eur(200), going: 1 });
  assert.deepEqual(asked(offer, new Set(["b"])), { tickets: ["b"] });
  assert.deepEqual(asked(offer, new Set(["a", "gone"])), { tickets: ["a"] });
  assert.deepEqual(sums(offer, new Set(["a", "b"])), { amount: eur(1_500), fee: eur(300), going: 2 });
});

test("a sum that was never charged is taken off all tickets only once", () => {
  const waived = { amount: eur(1_460), fee: eur(300), tickets: [ticket("a", 860, 100), ticket("b", 560, 200)] };
  assert.deepEqual(sums(waived, new Set(["a"])), { amount: eur(860), fee: eur(100), going: 1 });
  assert.deepEqual(sums(waived, new Set(["a", "b"])), { amount: eur(1_460), fee: eur(300), going: 2 });
});

test("before tickets are made, the whole order is refunded", () => {
  const early = { ...offer, tickets: [] };
  assert.deepEqual(sums(early, new Set(["a"])), { amount: eur(1_500), fee: eur(300), going: 0 });
  assert.deepEqual(asked(early, new Set()), {});
  assert.deepEqual(asked(null, new Set()), {});
});

test("the lead names the fee, a retimed train, or what an exchange carried over", () => {
  const of = (more) => lead({ ...offer, fee_pct: 0, ...more });
  assert.equal(of({ fee: eur(0) }), "lead_free");
  assert.equal(of({ fee_pct: 10 }), "lead_fee");
  assert.equal(of({ reason: "train_retimed" }), "lead_retimed");
  assert.equal(of({ amount: eur(0), fee: eur(0) }), "lead_nothing");
  const carried = { amount: eur(1_000), refundable: eur(900) };
  assert.equal(of({ carried }), "lead_carried");
  assert.equal(of({ carried, fee_pct: 20 }), "lead_carried_fee");
  assert.equal(of({ carried: { ...carried, refundable: eur(1_000) }, fee_pct: 10 }), "lead_fee");
});
