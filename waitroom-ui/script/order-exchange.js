// Exchanges the seats of a paid order for seats of the same show, of a show that belongs together
// with it, or of another train between the same stations. The exchange makes a new order, which
// shows the cost before anything is paid.

import { $, call, make, put, show, showProblem, t, when } from "./core.js";
import { exchangeChoices, searchFor } from "./exchange-choices.js";
import { journeyDay, journeyTimes } from "./journey.js";
import { keepOrder } from "./keys.js";
import { money } from "./money.js";

let filled = "";

/** Shows the form for an exchange, and a link to the order that replaces this order. */
export async function renderExchange(order) {
  const into = order.exchange;
  const open = into && ["pending", "confirmed"].includes(into.state);
  const done = order.state === "exchanged";
  show($("exchanged"), Boolean(into) && (open || done));
  if (open || done) {
    put("exchanged-lead", t(done ? "order.exchange.done" : "order.exchange.open"));
    keepOrder(into.order, { key: into.order_key });
    $("exchanged-link").href = `/o/${encodeURIComponent(into.order)}`;
  }
  const offer = order.exchange_offer;
  const may = Boolean(offer);
  show($("exchange-box"), may);
  if (may) tellTerms(offer, order.journey?.from.time_zone ?? order.time_zone);
  show($("exchange-trains"), Boolean(order.journey));
  show($("exchange-shows"), !order.journey);
  if (!may || filled === order.order) return;
  if (order.journey) {
    filled = order.order;
    $("exchange-date").value = journeyDay(order.journey);
    $("exchange").disabled = true; // Until a train can be chosen.
  } else {
    show($("exchange-ask"), false);
    if (await fillShows(order)) filled = order.order;
  }
}

function tellTerms({ until, fee, kept_pct: kept }, zone) {
  const cheaper = kept === 0 ? "cheaper_back" : kept === 100 ? "cheaper_kept" : "cheaper_part";
  put("exchange-cheaper", t(`order.exchange.${cheaper}`, { pct: kept }));
  show($("exchange-fee"), fee.amount > 0);
  if (fee.amount > 0) put("exchange-fee", t("order.exchange.fee", { fee: money(fee) }));
  put("exchange-until", t("order.exchange.until", { time: when(until, zone) }));
}

/** Lists the shows to choose from. Returns whether they could be read. */
async function fillShows(order) {
  const ownShow = await call("GET", `/v1/shows/${encodeURIComponent(order.show)}`);
  if (!ownShow.ok) return false;
  const now = order.server_time;
  const allShows = await call("GET", `/v1/shows?${new URLSearchParams({ ...searchFor(ownShow.body), from: now })}`);
  if (!allShows.ok) return false;
  const choices = exchangeChoices(ownShow.body, allShows.body.shows, { currency: order.total.currency, now });
  show($("exchange-ask"), choices.length > 0);
  $("exchange-show").replaceChildren(...choices.map((target) => make("option", { value: target.show, text: `${target.title}, ${when(target.starts_at, target.time_zone)}` })));
  if (choices.some((target) => target.show === order.show)) $("exchange-show").value = order.show;
  return true;
}

/**
 * Finds the day's trains between the order's stations, and lists each class with enough free seats
 * as a choice.
 */
export async function findTrains(order) {
  const { from, to } = order.journey;
  const query = new URLSearchParams({ from: from.station, to: to.station, date: $("exchange-date").value });
  const trips = await call("GET", `/v1/rail/trips?${query}`);
  if (!trips.ok) return showProblem(trips.problem);
  showProblem(null);
  const seats = living(order).length;
  const choices = trips.body.flatMap((trip) => trip.classes.filter(({ free }) => free >= seats).map((trainClass) => choice(trip, trainClass)));
  $("exchange-train").replaceChildren(...choices);
  show($("exchange-train-box"), choices.length > 0);
  show($("exchange-none"), choices.length === 0);
  $("exchange").disabled = choices.length === 0;
}

function choice(trip, { class: name, label, price }) {
  const words = t("order.exchange.train", { train: trip.train, time: journeyTimes({ from: { at: trip.departs, time_zone: trip.from_time_zone }, to: { at: trip.arrives, time_zone: trip.to_time_zone }, time_zone: trip.time_zone }), class: label, price: money(price) });
  return make("option", { value: JSON.stringify({ show: trip.show, class: name, departs: trip.departs }), text: words });
}

const living = (order) => order.seats.filter(({ refunded }) => !refunded);

/** Returns the body of the exchange call: as many best available seats as the order still has. */
export function exchangeAsk(order) {
  const quantity = living(order).length;
  if (!order.journey) return { show: $("exchange-show").value, best: { quantity } };
  const { show: train, class: name, departs } = JSON.parse($("exchange-train").value);
  return { show: train, best: { quantity, class: name }, from: order.journey.from.station, to: order.journey.to.station, departs };
}
