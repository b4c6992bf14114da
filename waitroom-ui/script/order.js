// The page of an order: waits for the payment, shows each state in words, and the tickets at the
// end.

import { $, announce, call, data, make, money, put, raw, ready, show, showProblem, t, useVenueZone, when, whereLine } from "./core.js";
import { Countdown, skewOf } from "./countdown.js";
import { journeyWords } from "./journey.js";
import { keepTicket, keptOrder, orderKey } from "./keys.js";
import { exchangeAsk, findTrains, renderExchange } from "./order-exchange.js";
import { refundAsk, renderRefund } from "./order-refund.js";
import { payWithStripe } from "./stripe.js";
import { drawingOf, ticketSvg } from "./svg.js";
import { forgetOtherTickets } from "./ticket-store.js";

const id = (typeof data.order === "string" ? data.order : data.order?.order) ?? decodeURIComponent(location.pathname.split("/").pop());
const path = `/v1/orders/${encodeURIComponent(id)}`;
const bearer = orderKey(id);
const SHAPES = { pending: "clock", confirmed: "check", ticketed: "check", expired: "cross", cancelled: "cross", awaiting_consent: "warning", capture_failed: "cross", refunded: "ring", partly_refunded: "check", exchanged: "ring" };
const USUAL = ["ordered", "ordered_in_exchange", "payment_authorised", "payment_captured", "nothing_to_pay", "exchanged", "late_other_seats"]; // These reasons get no line of their own, because the words for the state already say them.
const SETTLED = ["ticketed", "expired", "cancelled", "capture_failed", "refunded", "partly_refunded", "exchanged"];
const countdown = new Countdown($("clock"), () => refresh());
const consentCountdown = new Countdown($("consent-clock"), () => refresh());
let order = null;
let timer = 0;
let quick = 0;

async function refresh() {
  clearTimeout(timer);
  const answer = await call("GET", path, { bearer });
  if (answer.ok) {
    if (["offline", "server"].includes($("problem").dataset.code)) showProblem(null);
    take(answer.body);
  } else {
    const none = [401, 403, 404].includes(answer.status);
    showProblem(answer.problem, {}, none ? [{ label: t("common.to_home"), href: "/" }] : []);
    if (none) return show($("state-box"), false);
  }
  // Asks often until the order is settled, then rarely, because late money can still change a
  // settled order.
  const moneyMoves = order?.refunds?.some(({ state }) => state === "on_its_way");
  const settled = SETTLED.includes(order?.state) && !moneyMoves;
  quick = settled ? 0 : quick + 1;
  const wait = settled ? 60_000 : document.hidden ? 15_000 : quick < 40 ? 1_500 : 5_000;
  timer = setTimeout(refresh, wait * (0.9 + 0.2 * Math.random()));
}

function take(next) {
  const moved = order && order.state !== next.state;
  order = next;
  useVenueZone(order.time_zone ?? order.journey?.time_zone);
  const { state } = order;
  const known = raw(`order.state.${state}`);
  put("order-state", known ? t(`order.state.${state}.title`) : t("order.unknown_state", { state }));
  $("order-state").dataset.state = state;
  const body = state === "refunded" && order.total?.amount === 0 ? "body_free" : "body";
  put("state-body", known ? t(`order.state.${state}.${body}`) : "");
  $("state-shape").dataset.shape = SHAPES[state] ?? "ring";
  const plain = !order.reason || USUAL.includes(order.reason);
  show($("state-reason"), !plain);
  if (!plain) put("state-reason", t("order.reason_line", { reason: reasonWords(order.reason) }));
  renderPayment();
  renderSeats();
  renderHistory();
  renderTickets();
  renderOffer();
  renderRefund(order);
  renderExchange(order);
  const again = ["expired", "cancelled", "capture_failed", "refunded"].includes(state);
  show($("again"), again);
  const slug = order.show?.show ?? order.show ?? keptOrder(id).show;
  if (slug) $("again-link").href = `/s/${encodeURIComponent(slug)}`;
  if (moved) {
    announce(t("order.say_state", { state: $("order-state").textContent }), true);
    quick = 0;
  }
}

const reasonWords = (reason) => (raw(`order.reason.${reason}`) ? t(`order.reason.${reason}`) : reason.replaceAll("_", " "));

function payment() {
  return order.payment ?? keptOrder(id).payment;
}

function renderPayment() {
  const pending = order.state === "pending";
  const pay = payment();
  const sandbox = pay?.provider === "sandbox";
  const late = $("test-late");
  show(late, sandbox && !document.querySelector(".test-banner:not(#test-late)"));
  show($("pay-box"), pending);
  show($("difference"), pending && Boolean(order.exchange_of));
  if (order.exchange_of && pay) put("difference", t("order.exchange.difference", { amount: money(pay.amount) }));
  if (!pending) return countdown.stop();
  show($("sandbox"), sandbox);
  const stripe = pay?.provider === "stripe" && pay.client?.script;
  if (stripe) payWithStripe(pay.client, waitForTheBank);
  show($("elsewhere"), Boolean(pay) && !sandbox && !stripe);
  if (pay && !sandbox && !stripe) put("elsewhere", t("order.pay_elsewhere", { provider: pay.provider }));
  runDown(countdown, order.pay_until);
}

/** Starts a clock for a deadline, unless it already runs for this deadline. */
function runDown(clock, until) {
  if (!until || clock.deadline === until) return;
  clock.deadline = until;
  clock.start(until, skewOf(order.server_time));
}

function renderOffer() {
  const offer = order.state === "awaiting_consent" ? order.offer : null;
  show($("consent"), order.state === "awaiting_consent");
  if (!offer) return consentCountdown.stop();
  $("offered").replaceChildren(...offer.seats.map(seatRow));
  runDown(consentCountdown, offer.consent_until);
}

const seatRow = (seat) => make("li", seat.refunded ? { class: "gone" } : {}, make("span", { text: seat.refunded ? t("order.refund.seat", { seat: seat.label }) : [seat.label ?? seat, seat.traveller].filter(Boolean).join(" · ") }), make("b", { text: money(seat.price) }));

function waitForTheBank() {
  show($("working"));
  quick = 0;
  refresh();
}

function renderSeats() {
  show($("seats-box"));
  put("order-id", order.order);
  const title = order.title ?? order.show?.title;
  if (order.journey) put("show-title", journeyWords(order.journey));
  else if (title) put("show-title", [title, whereLine(order.venue_name, order), order.starts_at && when(order.starts_at)].filter(Boolean).join(" · "));
  put("total", money(order.total));
  $("seats").replaceChildren(...(order.seats ?? []).map(seatRow));
}

/**
 * Returns whether a step of the history says that the order was free. In an order made by an
 * exchange, nothing to pay means only that there was no difference to pay.
 */
const wasFree = ({ reason }) => reason === "nothing_to_pay" && !order.exchange_of;
const freely = ({ at, state }) => (state === "confirmed" ? { at, state: "free", reason: "free" } : { at, state });

function renderHistory() {
  $("history").replaceChildren(
    ...(order.history ?? []).map((step) => {
      const { at, state, reason } = wasFree(step) ? freely(step) : step;
      const words = raw(`order.history_state.${state}`) ? t(`order.history_state.${state}`) : state;
      return make("li", {}, make("time", { datetime: at, text: when(at) }), `: ${words}.${reason ? ` ${reasonWords(reason)}` : ""}`);
    }),
  );
}

function renderTickets() {
  const tickets = order.tickets ?? [];
  forgetOtherTickets(id, tickets.map(({ ticket }) => ticket));
  show($("tickets-box"), tickets.length > 0);
  for (const item of [...$("tickets").children]) {
    if (!tickets.some(({ ticket }) => ticket === item.dataset.ticket)) item.remove();
  }
  for (const { ticket, seat } of tickets) {
    const have = [...$("tickets").children].some((item) => item.dataset.ticket === ticket);
    if (have) continue;
    keepTicket(ticket, id);
    const label = typeof seat === "string" ? seat : (seat?.label ?? ticket);
    const code = make("div", { class: "qr-small", role: "img", "aria-label": t("order.qr_alt", { seat: label }) });
    const link = make("a", { class: "button plain ticket-link", href: `/t/${encodeURIComponent(ticket)}`, text: t("order.ticket_open", { seat: label }) });
    $("tickets").append(make("li", { "data-ticket": ticket }, code, link));
    ticketSvg(ticket, bearer).then((svg) => svg && code.replaceChildren(drawingOf(svg)));
  }
}

async function answerSandbox(outcome) {
  await act(`/v1/sandbox/payments/${encodeURIComponent(payment().payment)}`, { outcome }, [$("approve"), $("decline")]);
}

async function act(to, body, buttons) {
  for (const button of buttons) button.disabled = true;
  show($("working"));
  const answer = await call("POST", to, { body, bearer });
  if (answer.ok) showProblem(null);
  else showProblem(answer.problem);
  quick = 0;
  await refresh();
  show($("working"), false);
  for (const button of buttons) button.disabled = false;
}

ready();
$("approve").addEventListener("click", () => answerSandbox("approve"));
$("decline").addEventListener("click", () => answerSandbox("decline"));
$("cancel").addEventListener("click", () => act(`${path}/cancel`, {}, [$("cancel")]));
$("refund").addEventListener("click", async () => {
  await act(`${path}/refund`, refundAsk(order), [$("refund")]);
  $("refund-ask").open = false;
});
$("exchange-find").addEventListener("click", () => findTrains(order));
$("exchange").addEventListener("click", async () => {
  await act(`${path}/exchange`, exchangeAsk(order), [$("exchange")]);
  if (order?.exchange && !$("exchanged").hidden) location.assign($("exchanged-link").href);
});
for (const accept of [true, false]) {
  $(accept ? "consent-yes" : "consent-no").addEventListener("click", () => act(`${path}/consent`, { accept }, [$("consent-yes"), $("consent-no")]));
}
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh());
refresh();
