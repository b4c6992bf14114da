// The page of an order. It waits for the payment, shows each state in words, and shows the tickets
// at the end.

import { $, announce, call, data, make, put, raw, ready, show, showProblem, t, useVenueZone, when, whereLine } from "./core.js";
import { Countdown } from "./countdown.js";
import { journeyWords } from "./journey.js";
import { keepOrder, keepTicket, keptOrder, orderKey } from "./keys.js";
import { money } from "./money.js";
import { exchangeAsk, findTrains, renderExchange } from "./order-exchange.js";
import { refundAsk, renderRefund, whileRefunding } from "./order-refund.js";
import { caseOf, isDeclined, lobbyOf, readAgainMs } from "./order-words.js";
import { skewOf } from "./skew.js";
import { payWithStripe } from "./stripe.js";
import { drawingOf, ticketSvg } from "./svg.js";
import { forgetOtherTickets } from "./ticket-store.js";

const id = (typeof data.order === "string" ? data.order : data.order?.order) ?? decodeURIComponent(location.pathname.split("/").pop());
const path = `/v1/orders/${encodeURIComponent(id)}`;
// The order was placed without scripts, and the page has its key.
if (data.key && !orderKey(id)) keepOrder(id, { key: data.key });
const bearer = orderKey(id);
const SHAPES = { pending: "clock", confirmed: "check", ticketed: "check", expired: "cross", cancelled: "cross", awaiting_consent: "warning", capture_failed: "cross", refunded: "ring", partly_refunded: "check", exchanged: "ring" };
// These reasons get no line of their own, because the words for the state already say them.
const USUAL = ["ordered", "payment_declined", "payment_tried_again", "payment_deadline", "late_money", "ordered_in_exchange", "restored_from_provider", "payment_authorised", "payment_captured", "nothing_to_pay", "exchanged", "late_other_seats"];
const countdown = new Countdown($("clock"), () => refresh());
const consentCountdown = new Countdown($("consent-clock"), () => refresh());
let order = null;
let skewMs = 0;
let timer = 0;
let reads = 0;

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
  reads += 1;
  const usual = readAgainMs(order, { hidden: document.hidden, reads, now: Date.now() + skewMs });
  const wait = answer.ok ? usual : Math.max(usual, 1000 * (answer.problem.retry_after_s ?? 3));
  clearTimeout(timer);
  timer = setTimeout(refresh, wait * (0.9 + 0.2 * Math.random()));
}

/** Shows the order's state, and returns whether its words have changed. */
function renderState() {
  const { state } = order;
  const titleBefore = $("order-state").textContent;
  const special = caseOf(order, Date.now() + skewMs);
  const words = (part) => (special ? t(`order.case.${special}.${part}`) : t(`order.state.${state}.${part}`));
  const isKnown = raw(`order.state.${state}`);
  put("order-state", isKnown ? words("title") : t("order.unknown_state", { state }));
  put("state-body", isKnown ? words("body") : "");
  $("order-state").dataset.state = state;
  $("order-state").dataset.case = special ?? "";
  $("state-shape").dataset.shape = ["declined", "late", "disputed"].includes(special) ? "warning" : (SHAPES[state] ?? "ring");
  return titleBefore !== $("order-state").textContent;
}

function take(next) {
  const isFirst = order === null;
  order = next;
  skewMs = skewOf(order.server_time);
  useVenueZone(order.journey?.from.time_zone ?? order.time_zone);
  const hasMoved = renderState() && !isFirst;
  const isPlain = !order.reason || USUAL.includes(order.reason);
  show($("state-reason"), !isPlain);
  if (!isPlain) put("state-reason", t("order.reason_line", { reason: reasonWords(order.reason) }));
  renderPayment();
  renderSeats();
  renderHistory();
  renderTickets();
  renderOffer();
  renderRefund(order);
  renderExchange(order);
  const mayOrderAgain = ["expired", "cancelled", "capture_failed", "refunded"].includes(order.state);
  show($("again"), mayOrderAgain);
  const slug = order.show?.show ?? order.show ?? keptOrder(id).show;
  if (slug) $("again-link").href = `/s/${encodeURIComponent(slug)}`;
  if (hasMoved) {
    announce(t("order.say_state", { state: stateWords() }), true);
    reads = 0;
  }
}

/** Returns the words for the state to say aloud. After a decline they tell of the minute left. */
function stateWords() {
  const title = $("order-state").textContent;
  return isDeclined(order) ? `${title}. ${$("state-body").textContent}` : title;
}

const reasonWords = (reason) => (raw(`order.reason.${reason}`) ? t(`order.reason.${reason}`) : reason.replaceAll("_", " "));

function payment() {
  return order.payment ?? keptOrder(id).payment;
}

function renderPayment() {
  const pending = order.state === "pending";
  const pay = payment();
  const sandbox = pay?.provider === "sandbox";
  const testNotice = $("test-late");
  show(testNotice, sandbox && !document.querySelector(".test-banner:not(#test-late)"));
  show($("pay-box"), pending);
  show($("difference"), pending && Boolean(order.exchange_of));
  if (order.exchange_of && pay) put("difference", t("order.exchange.difference", { amount: money(pay.amount) }));
  if (!pending) return countdown.stop();
  show($("sandbox"), sandbox);
  const stripe = pay?.provider === "stripe" && pay.client?.script;
  if (stripe) payWithStripe(pay.client, (declined) => (declined || isDeclined(order) ? beginsNextTry() : true), waitForTheBank);
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

/**
 * Tells the server that another try to pay begins, so that the order waits its whole time again.
 * Returns whether the buyer may pay. If the server does not answer, the try goes on: the rest of
 * the minute may be enough.
 */
async function beginsNextTry() {
  const answer = await call("POST", `${path}/try-again`, { body: {}, bearer });
  if (answer.ok) take(answer.body);
  if (answer.status !== 409) return true;
  showProblem(answer.problem);
  await refresh();
  return false;
}

function waitForTheBank() {
  show($("working"));
  reads = 0;
  refresh();
}

function renderSeats() {
  show($("seats-box"));
  put("order-id", order.order);
  const title = order.title ?? order.show?.title;
  if (order.journey) put("show-title", journeyWords(order.journey));
  else if (title) put("show-title", [title, whereLine(order.venue_name, order), order.starts_at && when(order.starts_at)].filter(Boolean).join(" · "));
  const sold = order.journey_as_sold;
  show($("moved"), Boolean(sold));
  if (sold) put("moved", t(order.refund_offer?.reason === "train_retimed" ? "common.train_changed_free" : "common.train_changed", { sold: journeyWords(sold) }));
  put("total", money(order.total));
  $("seats").replaceChildren(...(order.seats ?? []).map(seatRow));
  renderOpensWhere();
}

/** Says how the order gets to another device. */
function renderOpensWhere() {
  const lobby = lobbyOf(order);
  show($("bring-along"), Boolean(lobby));
  if (lobby) $("to-lobby").href = lobby;
  show($("print-tickets"), !lobby);
}

/**
 * Returns whether a step of the history says that the order was free. In an order made by an
 * exchange, nothing to pay means only that there was no difference to pay.
 */
const wasFree = ({ reason }) => reason === "nothing_to_pay" && !order.exchange_of;
const freely = ({ at, state }) => (state === "confirmed" ? { at, state: "free", reason: "free" } : { at, state });

function renderHistory() {
  const steps = order.history ?? [];
  $("history").replaceChildren(
    ...steps.map((step, nth) => {
      const { at, state, reason } = wasFree(step) ? freely(step) : step;
      const words = raw(`order.history_state.${state}`) ? t(`order.history_state.${state}`) : state;
      // A step that leaves the state as it was, such as a dispute, has only its reason to tell.
      const isSame = reason && state === steps[nth - 1]?.state;
      const told = [isSame ? null : `${words}.`, reason ? reasonWords(reason) : null].filter(Boolean).join(" ");
      return make("li", {}, make("time", { datetime: at, text: when(at) }), `: ${told}`);
    }),
  );
}

function renderTickets() {
  // While they are blocked, no code of them is shown.
  const tickets = order.disputed ? [] : (order.tickets ?? []);
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
  if (isDeclined(order) && !(await beginsNextTry())) return;
  await act(`/v1/sandbox/payments/${encodeURIComponent(payment().payment)}`, { outcome }, [$("approve"), $("decline")]);
}

async function act(to, body, buttons) {
  for (const button of buttons) button.disabled = true;
  show($("working"));
  const answer = await call("POST", to, { body, bearer });
  if (answer.ok) showProblem(null);
  else showProblem(answer.problem);
  reads = 0;
  await refresh();
  keepOrder(id, { acted_at: Date.now() });
  show($("working"), false);
  for (const button of buttons) button.disabled = false;
}

ready();
// A tab that changes the order also stores a value, so that the other tabs notice at once.
addEventListener("storage", ({ key }) => key === `fairgate.order.${id}` && refresh());
$("approve").addEventListener("click", () => answerSandbox("approve"));
$("decline").addEventListener("click", () => answerSandbox("decline"));
$("cancel").addEventListener("click", () => act(`${path}/cancel`, {}, [$("cancel")]));
$("refund").addEventListener("click", async () => {
  await whileRefunding(() => act(`${path}/refund`, refundAsk(order), [$("refund")]));
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
