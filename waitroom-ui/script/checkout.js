// The checkout: shows the held seats and their deadline, asks for the buyer's name and email,
// places the order once, and opens the order's page.

import { $, call, data, kept, make, money, put, ready, show, showProblem, t, useVenueZone, when, whereLine } from "./core.js";
import { Countdown, skewOf } from "./countdown.js";
import { forgetHold, holdKept, Intent } from "./holds.js";
import { journeyWords } from "./journey.js";
import { keepOrder } from "./keys.js";
import { askForTravellers, travellersNamed } from "./travellers.js";

const id = data.hold?.hold ?? (typeof data.hold === "string" ? data.hold : decodeURIComponent(location.pathname.split("/").pop()));
const intent = new Intent();
const countdown = new Countdown($("clock"), () => expired());
const SUMS = ["amount_too_small", "amount_too_large", "amount_too_fine"];
let hold = null;

async function start() {
  ready();
  const ordered = kept.get(`ordered.${id}`);
  if (ordered) return location.replace(`/o/${encodeURIComponent(ordered)}`);
  const known = holdKept(id);
  const [answer, early] = await Promise.all([call("GET", `/v1/holds/${encodeURIComponent(id)}`), fetchShow(known?.show)]);
  show($("loading"), false);
  if (answer.ok) hold = { ...known, ...answer.body, skew_ms: skewOf(answer.body.server_time) };
  else if (answer.status === 404 || answer.status === 410) return known || answer.status === 410 ? expired(known) : showProblem(answer.problem);
  else hold = known ?? (data.hold?.seats ? { ...data.hold, skew_ms: skewOf(data.hold.server_time) } : null);
  if (!hold) return showProblem(answer.problem, {}, [{ label: t("common.try_again"), run: () => location.reload() }]);
  if (hold.state === "ordered") return showProblem({ code: "hold_ordered", status: 409 });
  $("seats").replaceChildren(...hold.seats.map((seat) => make("li", {}, make("span", { text: seat.label }), make("b", { text: money(seat.price) }))));
  put("total", money(hold.total));
  put("pay", payWords());
  show($("free-hint"), isFree());
  if (isFree()) show($("test-hint"), false);
  if (!hold.journey) tellShow(early ?? (await fetchShow(hold.show)));
  if (hold.journey) {
    put("journey", journeyWords(hold.journey));
    show($("journey"));
    askForTravellers(hold.seats);
  }
  if (back()) $("back").href = back();
  // The seats and the form appear together, so that no button moves while somebody is about to
  // press it.
  for (const part of ["basket", "buyer-form"]) show($(part));
  countdown.start(hold.expires_at, hold.skew_ms ?? 0);
}

const fetchShow = (slug) => (slug ? call("GET", `/v1/shows/${encodeURIComponent(slug)}`, { cache: "default" }) : null);

/** Tells what is bought, where it is and when. Without an answer the page does without. */
function tellShow(answer) {
  if (!answer?.ok) return;
  const doc = answer.body;
  useVenueZone(doc.time_zone);
  put("show-title", [doc.title, whereLine(doc.venue_name, doc), when(doc.starts_at)].filter(Boolean).join(" · "));
}

/** Returns whether the total is 0. Then the order's page shows no payment. */
const isFree = () => hold?.total?.amount === 0;
const payWords = () => t(isFree() ? "checkout.free" : "checkout.pay");

const back = () => {
  const slug = hold?.show ?? holdKept(id)?.show ?? data.show?.show;
  return slug ? `/s/${encodeURIComponent(slug)}` : null;
};

function expired() {
  countdown.stop();
  show($("buyer-form"), false);
  showProblem({ code: "hold_expired", status: 410 }, {}, [{ label: t("checkout.back"), href: back() ?? "/" }]);
}

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
  const answer = await intent.send("POST", `/v1/holds/${encodeURIComponent(id)}/order`, { buyer: { name, email }, ...(travellers.length ? { travellers } : {}) });
  $("pay").disabled = false;
  put("pay", payWords());
  if (!answer.ok) return refused(answer.problem);
  const { order, order_key, payment } = answer.body;
  keepOrder(order, { key: order_key, show: hold?.show, payment });
  kept.set(`ordered.${id}`, order);
  if (hold?.show) forgetHold(hold.show, id);
  location.assign(`/o/${encodeURIComponent(order)}`);
}

function refused(problem) {
  if (problem.code === "hold_expired") return expired();
  const again = problem.status === 0 || problem.status >= 500 || problem.code === "idempotency_in_flight";
  const actions = again && problem.code !== "payments_not_configured" ? [{ label: t("common.try_again"), run: () => $("buyer-form").requestSubmit() }] : [];
  const [total, limit] = [problem.total ?? hold?.total, problem.minimum ?? problem.maximum ?? problem.step];
  // If the provider refuses a sum without naming its limit, the server's own words are shown.
  const shown = SUMS.includes(problem.code) && !limit ? { ...problem, code: "payment_refused" } : problem;
  showProblem(shown, { total: money(total), limit: money(limit) }, actions);
}

$("buyer-form").addEventListener("submit", pay);
start();
