// The page of a ticket: its show and seat, and its QR code, large on white for the screen and for
// paper.

import { $, call, data, make, put, ready, show, showProblem, t, useVenueZone, when, whereLine } from "./core.js";
import { journeyTimes } from "./journey.js";
import { orderKey, orderOfTicket } from "./keys.js";
import { ticketDrawing } from "./svg.js";

const id = (typeof data.ticket === "string" ? data.ticket : data.ticket?.ticket) ?? decodeURIComponent(location.pathname.split("/").pop());
const path = `/v1/tickets/${encodeURIComponent(id)}`;
const known = orderOfTicket(id);
const bearer = known ? orderKey(known) : undefined;

async function start() {
  ready();
  const [answer, drawing] = await Promise.all([call("GET", path, { bearer }), ticketDrawing(id, bearer)]);
  if (!answer.ok) {
    const none = [401, 403, 404].includes(answer.status);
    return showProblem(answer.problem, {}, [none ? { label: t("common.to_home"), href: "/" } : { label: t("common.try_again"), run: () => location.reload() }]);
  }
  const ticket = answer.body;
  useVenueZone(ticket.time_zone);
  const title = ticket.title ?? ticket.show?.title ?? t("ticket.title");
  put("show-title", title);
  document.title = `${title} · ${document.title}`;
  if (ticket.journey) put("starts", journeyTimes(ticket.journey));
  else if (ticket.starts_at) $("starts").replaceChildren(make("time", { datetime: ticket.starts_at, text: when(ticket.starts_at) }));
  put("seat", typeof ticket.seat === "string" ? ticket.seat : (ticket.seat?.label ?? "–"));
  // A train's venue is its kind of carriages, which does not help to find the train.
  for (const field of ticket.journey ? ["name"] : ["venue", "name"]) {
    const named = ticket[`${field}_name`] ?? ticket[field]?.title ?? ticket[field];
    const value = field === "venue" ? whereLine(named, ticket) : named;
    show($(`${field}-tile`), Boolean(value));
    if (value) put(field, value);
  }
  put("ticket-id", id);
  show($("ticket-test"), Boolean(ticket.test));
  show($("scanned"), Boolean(ticket.scanned_at));
  if (ticket.scanned_at) put("scanned", t("ticket.scanned", { time: when(ticket.scanned_at) }));
  if (drawing) $("qr").replaceChildren(drawing);
  show($("ticket"));
  show($("print"));
  show($("calendar"));
  const order = ticket.order ?? known;
  show($("to-order"), Boolean(order));
  if (order) $("to-order").href = `/o/${encodeURIComponent(order)}`;
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
