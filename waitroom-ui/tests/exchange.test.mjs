// Only shows that belong together are offered for an exchange.

import assert from "node:assert/strict";
import { test } from "node:test";

import { exchangeChoices, searchFor } from "../script/exchange-choices.js";

const priced = (currency) => [{ key: "cat1", price: { amount: 1_000, currency } }];
const night = (show, more = {}) => ({ show, kind: "seated", room: "sale", title: "Night", venue: "hall", starts_at: "2027-06-01T18:00:00Z", sales_ended: false, fate: null, categories: priced("EUR"), ...more });
const when = { currency: "EUR", now: "2027-01-10T09:00:00Z" };
const names = (own, shows) => exchangeChoices(own, shows, when).map(({ show }) => show);

test("the nights of one on-sale belong together", () => {
  const own = night("one");
  const others = [night("two", { title: "Night two" }), night("other-room", { room: "another" })];
  assert.deepEqual(names(own, [own, ...others]), ["one", "two"]);
  assert.deepEqual(searchFor(own), { room: "sale" });
});

test("what is not sold any more, or in another currency, is left out", () => {
  const own = night("one");
  const others = [
    night("cancelled", { fate: "cancelled" }),
    night("over", { sales_ended: true }),
    night("announced", { state: "announced" }),
    night("past", { starts_at: "2026-06-01T18:00:00Z" }),
    night("dollars", { categories: priced("USD") }),
    night("train", { kind: "rail" }),
    night("postponed", { fate: "postponed" }),
  ];
  assert.deepEqual(names(own, [own, ...others]), ["one", "postponed"]);
});

test("without an on-sale, only the same title at the same venue belongs together", () => {
  const own = night("one", { room: "everyday" });
  const others = [night("again", { room: "everyday" }), night("play", { room: "everyday", title: "Play" }), night("town", { room: "everyday", venue: "town" })];
  assert.deepEqual(names(own, [own, ...others]), ["one", "again"]);
  assert.deepEqual(searchFor(own), { q: "Night", venue: "hall" });
});
