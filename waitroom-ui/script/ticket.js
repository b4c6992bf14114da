// The page of a ticket: its show, seat, person and price, and its QR code, large on white for the
// screen and for paper. A ticket that was opened once also opens without a connection.

import { $, call, data, make, put, ready, show, showProblem, t, useVenueZone, when } from "./core.js";
import { journeyTimes, journeyWords } from "./journey.js";
import { orderKey, orderOfTicket } from "./keys.js";
import { money } from "./money.js";
import { drawingOf, ticketSvg } from "./svg.js";
import { forgetTicket, storeTicket } from "./ticket-store.js";

const id = (typeof data.ticket === "string" ? data.ticket : data.ticket?.ticket) ?? decodeURIComponent(location.pathname.split("/").pop());
const path = `/v1/tickets/${encodeURIComponent(id)}`;
const known = orderOfTicket(id);
const bearer = known ? orderKey(known) : undefined;

async function start() {
  ready();
  // Without the order's key, this browser does not show what it once stored.
  if (!bearer) await forgetTicket(id);
  const [answer, svg] = await Promise.all([call("GET", path, { bearer }), ticketSvg(id, bearer)]);
  if (!answer.ok) {
    const none = [401, 403, 404].includes(answer.status);
    if (none || ["ticket_void", "ticket_blocked"].includes(answer.problem.code)) await forgetTicket(id);
    return showProblem(answer.problem, {}, [none ? { label: t("common.to_home"), href: "/" } : { label: t("common.try_again"), run: () => location.reload() }]);
  }
  const ticket = answer.body;
  useVenueZone(ticket.time_zone);
  const title = ticket.title ?? ticket.show?.title ?? t("ticket.title");
  put("show-title", title);
  document.title = `${title} · ${document.title}`;
  if (ticket.journey) put("starts", journeyTimes(ticket.journey));
  else if (ticket.starts_at) $("starts").replaceChildren(make("time", { datetime: ticket.starts_at, text: when(ticket.starts_at) }));
  const sold = ticket.journey_as_sold;
  show($("moved"), Boolean(sold));
  if (sold) put("moved", t("common.train_changed", { sold: journeyWords(sold) }));
  put("seat", ticket.seat);
  fillTile("name", ticket.name ?? ticket.buyer);
  // A train's venue is its kind of carriages, which does not help to find the train.
  fillTile("venue", ticket.journey ? null : (ticket.venue_name ?? ticket.venue));
  put("address", [ticket.address, ticket.city].filter(Boolean).join(", "));
  fillTile("category", ticket.category);
  fillTile("price", ticket.price && money(ticket.price));
  put("ticket-id", id);
  show($("ticket-test"), Boolean(ticket.test));
  show($("scanned"), Boolean(ticket.scanned_at));
  if (ticket.scanned_at) put("scanned", t("ticket.scanned", { time: when(ticket.scanned_at) }));
  if (svg) $("qr").replaceChildren(drawingOf(svg));
  show($("ticket"));
  show($("print"));
  show($("calendar"));
  const order = ticket.order ?? known;
  show($("to-order"), Boolean(order));
  if (order) $("to-order").href = `/o/${encodeURIComponent(order)}`;
  await store(answer, svg);
}

function fillTile(field, value) {
  show($(`${field}-tile`), Boolean(value));
  if (value) put(field, value);
}

/**
 * Stores the ticket, unless it was itself read from the store. Says on the page which of the two it
 * is.
 */
async function store(answer, svg) {
  const isStored = answer.headers.has("x-fairgate-stored");
  show($("stored"), isStored);
  if (isStored || !bearer || !svg) return;
  const answers = [[path, JSON.stringify(answer.body), "application/json"], [`${path}.svg`, svg, "image/svg+xml"]];
  show($("saved"), await storeTicket(id, answers));
}

/**
 * Fetches the calendar file and saves it. A plain link cannot send the order's key, which the file
 * needs.
 */
async function calendar(event) {
  event.preventDefault();
  const answer = await call("GET", `${path}.ics`, { accept: "text/calendar", text: true, bearer });
  if (!answer.ok) return showProblem(answer.problem);
  const url = URL.createObjectURL(new Blob([answer.body], { type: "text/calendar" }));
  make("a", { href: url, download: "show.ics" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

$("print").addEventListener("click", () => print());
$("calendar").addEventListener("click", calendar);
start();
