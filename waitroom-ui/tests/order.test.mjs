// The words for an order are true at any moment, and its page follows it closely only while it may
// change.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { caseOf, isDeclined, lobbyOf, readAgainMs } from "../script/order-words.js";

const NOW = Date.parse("2027-01-10T09:00:00Z");
const texts = JSON.parse(readFileSync(new URL("../text/en.json", import.meta.url), "utf8"));
const at = (seconds) => new Date(NOW + 1000 * seconds).toISOString();
const order = (state, reason, more = {}) => ({ state, reason, pay_until: at(60), payment: { state: "created" }, refunds: [], ...more });
const visible = { hidden: false, reads: 0, now: NOW };

test("a declined payment and a time that is over have words of their own", () => {
  assert.equal(caseOf(order("pending", "ordered"), NOW), null);
  assert.equal(caseOf(order("pending", "payment_declined"), NOW), "declined");
  assert.equal(caseOf(order("pending", "payment_declined", { pay_until: at(0) }), NOW), "over");
});

test("after a decline the page tells of one minute, until the next try begins", () => {
  assert.equal(caseOf(order("pending", "payment_tried_again"), NOW), null);
  assert.ok(isDeclined(order("pending", "payment_declined")));
  assert.ok(!isDeclined(order("pending", "payment_tried_again")) && !isDeclined(order("expired", "payment_declined")));
  assert.match(texts.order.case.declined.body, /one minute/);
  assert.ok(texts.order.reason.payment_tried_again && texts.problems.not_payable);
});

test("an order whose payment is disputed has words of its own while it has tickets", () => {
  const disputed = { disputed: true, payment: { state: "captured" } };
  for (const state of ["ticketed", "partly_refunded"]) assert.equal(caseOf(order(state, "payment_captured", disputed), NOW), "disputed");
  assert.equal(caseOf(order("refunded", "dispute_lost", disputed), NOW), null);
  assert.equal(caseOf(order("ticketed", "payment_captured", { disputed: false }), NOW), null);
  for (const reason of ["dispute_opened", "dispute_won", "dispute_lost", "refunded_at_provider", "payment_cancelled"]) assert.ok(texts.order.reason[reason], reason);
});

test("after a late payment no words say that nothing is charged", () => {
  for (const [reason, name] of [["late_money", "late"], ["late_seats_gone", "late_back"], ["late_sales_ended", "late_back"], ["consent_deadline", "unanswered"]]) {
    assert.equal(caseOf(order("expired", reason), NOW), name);
    assert.doesNotMatch(texts.order.case[name].body, /not charged|[Nn]othing is charged/);
  }
  assert.equal(caseOf(order("expired", "payment_deadline"), NOW), null);
  assert.equal(caseOf(order("expired", "late_money_withdrawn"), NOW), "withdrawn");
});

test("every late reason that gives the money back has words for it", () => {
  const late = Object.keys(texts.order.reason).filter((reason) => reason.startsWith("late_") && /money goes back/.test(texts.order.reason[reason]));
  assert.ok(late.length >= 7);
  for (const reason of late) assert.equal(caseOf(order("expired", reason), NOW), "late_back", reason);
});

test("an order names the waiting room that brings it to another device, and walk-ins have none", () => {
  assert.equal(lobbyOf({ room: "sale" }), "/r/sale");
  assert.equal(lobbyOf({ room: "everyday" }), null);
  assert.equal(lobbyOf({}), null);
});

test("the words for an order that does not open name the choice in the waiting room", () => {
  assert.ok(texts.problems.order_key_required.next.includes(`“${texts.lobby.move.title}”`));
});

test("an order that may change is read again within 2 s on a visible page", () => {
  const moving = [
    order("pending", "ordered"),
    order("confirmed", "payment_authorised"),
    order("awaiting_consent", "late_other_seats"),
    order("expired", "payment_deadline", { pay_until: at(-60) }),
    order("expired", "late_money", { payment: { state: "authorised" }, pay_until: at(-3_600) }),
  ];
  for (const one of moving) assert.ok(readAgainMs(one, { ...visible, reads: 500 }) * 1.1 < 2_000, one.state);
});

test("an order that has ended is read seldom, and a hidden page waits longer", () => {
  for (const state of ["ticketed", "cancelled", "refunded", "exchanged"]) assert.equal(readAgainMs(order(state, "x"), visible), 60_000);
  assert.equal(readAgainMs(order("expired", "payment_deadline", { pay_until: at(-3_600) }), visible), 10_000);
  assert.equal(readAgainMs(order("expired", "late_seats_gone", { payment: { state: "voided" } }), visible), 60_000);
  assert.equal(readAgainMs(order("pending", "ordered"), { ...visible, hidden: true }), 15_000);
  const back = order("refunded", "refund_by_buyer", { refunds: [{ state: "on_its_way" }] });
  assert.ok(readAgainMs(back, visible) < 2_000);
  assert.equal(readAgainMs(back, { ...visible, reads: 40 }), 10_000);
});
