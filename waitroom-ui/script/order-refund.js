// Refunds tickets. Before anything is done, shows which tickets can be refunded and the fee. Also
// shows the state of each refund.

import { $, make, put, raw, show, t, when } from "./core.js";
import { money } from "./money.js";
import { asked, lead, sums } from "./refund-sums.js";

let offered = "";
let isSending = false;
// The visitor ticks every ticket by hand. The ticks are stored here because the list may be drawn
// again while the visitor chooses.
const ticked = new Set();

/** Shows the tickets that can be refunded, and the refunds made so far. */
export function renderRefund(order) {
  const offer = order.refund_offer;
  const refunds = order.refunds ?? [];
  show($("refund-box"), Boolean(offer) || refunds.length > 0);
  show($("refund-offer"), Boolean(offer));
  $("refunds").replaceChildren(...refunds.map(refundRow));
  if (!offer) return;
  put("refund-lead", t(`order.refund.${lead(offer)}`, leadFigures(offer)));
  show($("refund-until"), Boolean(offer.until));
  if (offer.until) put("refund-until", t("order.refund.until", { time: when(offer.until, order.journey?.from.time_zone ?? order.time_zone) }));
  show($("refund-returned"), Boolean(offer.returned));
  if (offer.returned) put("refund-returned", t("order.refund.returned", { amount: money(offer.returned) }));
  const drawn = JSON.stringify(offer);
  if (drawn !== offered) {
    offered = drawn;
    const names = new Map((order.seats ?? []).map(({ label, traveller }) => [label, traveller]));
    $("refund-tickets").replaceChildren(...offer.tickets.map((ticket) => ticketRow(ticket, names)));
  }
  sumUp(offer);
}

function leadFigures({ fee_pct: pct, carried }) {
  return carried ? { pct, amount: money(carried.amount), refundable: money(carried.refundable) } : { pct };
}

/** Makes a ticket's line. On a train it names the traveller after the seat. */
function ticketRow({ ticket, seat: label, amount, fee }, names) {
  const seat = [label, names.get(label)].filter(Boolean).join(" · ");
  const box = make("input", { type: "checkbox", name: "refund-ticket", value: ticket });
  box.checked = ticked.has(ticket);
  box.addEventListener("change", () => {
    if (box.checked) ticked.add(ticket);
    else ticked.delete(ticket);
    sumUp(JSON.parse(offered));
  });
  const words = fee.amount > 0 ? t("order.refund.ticket_fee", { seat, back: money(amount), fee: money(fee) }) : t("order.refund.ticket", { seat, back: money(amount) });
  return make("li", {}, make("label", { class: "tick" }, box, make("span", { text: words })));
}

function sumUp(offer) {
  const { amount, fee, going } = sums(offer, ticked);
  put("refund-back", money(amount));
  put("refund-fee", money(fee));
  const isEmpty = offer.tickets.length > 0 && going === 0;
  $("refund").disabled = isSending || isEmpty;
  show($("refund-none"), isEmpty);
}

/** Keeps the button disabled while `send()` runs, whatever is ticked meanwhile. */
export async function whileRefunding(send) {
  isSending = true;
  await send();
  isSending = false;
  sumUp(JSON.parse(offered));
}

/**
 * Returns the body of the refund call: the ticked tickets, or the whole order if it has no tickets
 * yet.
 */
export const refundAsk = (order) => asked(order.refund_offer, ticked);

function refundRow({ seats, amount, fee, state, at, done_at: doneAt }) {
  const refundWords = fee.amount > 0 ? t("order.refund.row_fee", { seats: seats.join(", "), back: money(amount), fee: money(fee) }) : t(seats.length ? "order.refund.row" : "order.refund.row_no_seats", { seats: seats.join(", "), back: money(amount) });
  const stateName = amount.amount === 0 && state === "done" ? "nothing" : state;
  const stateWords = raw(`order.refund.state.${stateName}`) ? t(`order.refund.state.${stateName}`, { time: when(doneAt ?? at) }) : state;
  return make("li", { "data-state": state }, make("time", { datetime: at, text: when(at) }), `: ${refundWords} ${stateWords}`);
}
