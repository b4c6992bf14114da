// The checkout: shows the held seats and their deadline, asks for the buyer's name and email,
// places the order once, and opens the order's page. It follows what other tabs of this browser do
// with the hold.

import { $, call, data, kept, make, put, ready, show, showProblem, t } from "./core.js";
import { Countdown } from "./countdown.js";
import { forgetHold, holdKept, Intent, orderElsewhere, releasedProblem } from "./holds.js";
import { journeyWords } from "./journey.js";
import { keepOrder } from "./keys.js";
import { Live } from "./live.js";
import { money } from "./money.js";
import { MoreTime } from "./more-time.js";
import { skewOf } from "./skew.js";
import { StillHere, tellPassEnded } from "./still-here.js";
import { askForTravellers, travellersNamed } from "./travellers.js";

const id = data.hold;
const path = `/v1/holds/${encodeURIComponent(id)}`;
// How often the page reads the hold again, to find changes from elsewhere. Other tabs of this
// browser report their changes at once.
const LOOK_MS = 15_000;
const intent = new Intent();
const moreTime = new MoreTime($("extend"), () => hold, { extended, refused: notExtended });
const countdown = new Countdown($("clock"), () => expired(), undefined, (left) => moreTime.offer(left));
const SUMS = ["amount_too_small", "amount_too_large", "amount_too_fine"];
let hold = null;
let timer = 0;
let sending = false; // True while the order is sent, and after it was placed.
// While this page has a socket, the server knows that its visitor is here and keeps the basket.
const live = data.room ? new Live(data.room, { frame: (frame) => still.heard(frame) }) : null;
// What is in the basket can be paid for without a pass, so nobody who types is told of its end.
const still = data.room ? new StillHere(data.room, (cause, isActing) => isActing || tellPassEnded(data.room, cause)) : null;
let isFillingIn = false; // True once the server knows that the visitor fills in the form.

async function start() {
  ready();
  const ordered = kept.get(`ordered.${id}`);
  if (ordered) return location.replace(`/o/${encodeURIComponent(ordered)}`);
  const stored = holdKept(id);
  const answer = await call("GET", path);
  show($("loading"), false);
  if (answer.ok) hold = { ...stored, ...answer.body, skew_ms: skewOf(answer.body.server_time) };
  else if (answer.status === 404 || answer.status === 410) return stored || answer.status === 410 ? gone(stored) : showProblem(answer.problem);
  else hold = stored;
  if (!hold) return showProblem(answer.problem, {}, [{ label: t("common.try_again"), run: () => location.reload() }]);
  if (hold.state === "ordered") return orderedElsewhere();
  render();
  live?.start();
  // The seats and the form appear together, so that no button moves while somebody is about to
  // press it.
  for (const part of ["basket", "buyer-form"]) show($(part));
  addEventListener("storage", ({ key }) => [`fairgate.hold.${id}`, `fairgate.ordered.${id}`].includes(key) && look());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && look());
  timer = setInterval(() => document.visibilityState === "visible" && look(), LOOK_MS);
}

/**
 * Tells the server that the visitor fills in the form. From then on, the basket lasts to its
 * deadline, even if the browser closes this page meanwhile. If the server does not hear it, the
 * next key tells it again.
 */
async function fillIn() {
  if (isFillingIn || !data.room) return;
  isFillingIn = true;
  const answer = await call("POST", `/v1/rooms/${encodeURIComponent(data.room)}/place/checkout`);
  isFillingIn = answer.ok;
}

/** Shows the seats, the total and the time that is left. */
function render() {
  $("seats").replaceChildren(...hold.seats.map((seat) => make("li", {}, make("span", { text: [seat.label, seat.category].filter(Boolean).join(" · ") }), make("b", { text: money(seat.price) }))));
  show($("apart"), hold.next_to_each_other === false && hold.seats.length > 1);
  put("total", money(hold.total));
  put("pay", payWords());
  show($("free-hint"), isFree());
  if (isFree()) show($("test-hint"), false);
  if (hold.journey) {
    put("journey", journeyWords(hold.journey));
    show($("journey"));
    askForTravellers(hold.seats);
  }
  if (seatsAddress()) $("back").href = seatsAddress();
  moreTime.render();
  countdown.start(hold.expires_at, hold.skew_ms ?? 0);
}

/** Shows the new deadline, which other tabs of this browser get, too. */
function extended(answer) {
  if (!hold || sending) return;
  hold = { ...hold, ...answer, skew_ms: skewOf(answer.server_time) };
  if (holdKept(id)) kept.set(`hold.${id}`, { ...holdKept(id), ...hold });
  render();
  // The button is no longer offered, and must not keep the focus.
  $("seats-title").focus({ preventScroll: true });
}

function notExtended(problem) {
  if (problem.code === "hold_expired") return gone(hold);
  if (problem.code === "hold_ordered") return orderedElsewhere();
  showProblem(problem);
}

/** Reads the hold again, because another tab may have changed it, given it back or ordered it. */
async function look() {
  if (sending || !hold) return;
  const answer = await call("GET", path);
  if (sending || !hold) return;
  if (answer.status === 404 || answer.status === 410) return gone(hold);
  if (answer.problem?.code === "show_cancelled") return refused(answer.problem);
  if (!answer.ok) return;
  if (answer.body.state === "ordered") return orderedElsewhere();
  const skew_ms = skewOf(answer.body.server_time);
  const isSame = ["seats", "expires_at", "journey"].every((field) => JSON.stringify(answer.body[field]) === JSON.stringify(hold[field]));
  hold = { ...hold, ...answer.body, skew_ms };
  if (!isSame) render();
}

/** Ends the checkout: nothing more can be ordered here. */
function close() {
  live?.stop();
  closeBasket();
}

/** Ends the checkout, but keeps the socket, which tells whether the lost basket ends the turn. */
function closeBasket() {
  countdown.stop();
  clearInterval(timer);
  hold = null;
  for (const part of ["basket", "buyer-form"]) show($(part), false);
}

function orderedElsewhere() {
  const order = kept.get(`ordered.${id}`);
  close();
  showProblem({ code: "hold_ordered", status: 409 }, {}, order ? [{ label: t("common.to_order"), href: `/o/${encodeURIComponent(order)}` }] : []);
}

/** Returns whether the total is 0. Then the order's page shows no payment. */
const isFree = () => hold?.total?.amount === 0;
const payWords = () => t(isFree() ? "checkout.free" : "checkout.pay");

const seatsAddress = () => {
  const slug = hold?.show ?? holdKept(id)?.show ?? data.show;
  return slug ? `/s/${encodeURIComponent(slug)}` : null;
};

/**
 * Says why there is no hold any more: another device ordered it, its time is over, or it ended
 * before that.
 */
async function gone(stored) {
  const order = stored && (await orderElsewhere({ ...stored, hold: id }));
  if (order) {
    kept.set(`ordered.${id}`, order);
    return orderedElsewhere();
  }
  const isOver = !stored || Date.parse(stored.expires_at) - (stored.skew_ms ?? 0) <= Date.now();
  if (isOver) expired();
  else ended(...releasedProblem(stored));
}

function ended(problem, values = {}) {
  const href = seatsAddress() ?? "/";
  closeBasket();
  showProblem(problem, values, [{ label: t("checkout.back"), href }]);
}

const expired = () => ended({ code: "hold_expired", status: 410 });

async function pay(event) {
  event.preventDefault();
  const [name, email] = [$("buyer-name").value.trim(), $("buyer-email").value.trim()];
  const faults = [["name", !name], ["email", !email || !$("buyer-email").checkValidity()]];
  for (const [field, wrong] of faults) {
    show($(`${field}-fault`), wrong);
    $(`buyer-${field}`).setAttribute("aria-invalid", String(wrong));
  }
  const first = faults.find(([, wrong]) => wrong);
  const travellers = travellersNamed();
  if (first) return $(`buyer-${first[0]}`).focus();
  if (travellers === null) return;
  $("pay").disabled = true;
  put("pay", t("checkout.paying"));
  sending = true;
  const answer = await intent.send("POST", `${path}/order`, { buyer: { name, email }, ...(travellers.length ? { travellers } : {}) });
  $("pay").disabled = false;
  put("pay", payWords());
  if (!answer.ok) {
    sending = false;
    return refused(answer.problem);
  }
  const { order, order_key, payment } = answer.body;
  keepOrder(order, { key: order_key, show: hold?.show, payment });
  kept.set(`ordered.${id}`, order);
  if (hold?.show) forgetHold(hold.show, id);
  location.assign(`/o/${encodeURIComponent(order)}`);
}

function refused(problem) {
  if (problem.code === "hold_expired") return gone(hold);
  if (problem.code === "hold_ordered") return orderedElsewhere();
  if (problem.code === "show_cancelled") {
    close();
    return showProblem(problem);
  }
  if (problem.code === "terms_changed") {
    look();
    return showProblem(problem, {}, [{ label: t("checkout.back"), href: seatsAddress() ?? "/" }]);
  }
  const mayRetry = problem.status === 0 || problem.status >= 500 || problem.code === "idempotency_in_flight";
  const actions = mayRetry && problem.code !== "payments_not_configured" ? [{ label: t("common.try_again"), run: () => $("buyer-form").requestSubmit() }] : [];
  const [total, limit] = [problem.total ?? hold?.total, problem.minimum ?? problem.maximum ?? problem.step];
  // If the provider refuses a sum without naming its limit, the page only says that it was refused.
  const problemShown = SUMS.includes(problem.code) && !limit ? { ...problem, code: "payment_refused" } : problem;
  // The order has ended with the refusal, and its seats are free again.
  if (problemShown.code === "payment_refused") close();
  showProblem(problemShown, { total: money(total), limit: money(limit) }, actions);
}

$("buyer-form").addEventListener("submit", pay);
$("buyer-form").addEventListener("input", fillIn);
start();
