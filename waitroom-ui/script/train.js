// The page of a departure. It holds seats of a class between two stops, or seats that the traveller
// picks in the carriages. If too few seats are free, the traveller can wait for seats. The page
// also shows the hold.

import { $, announce, data, mayPass, put, ready, show, showProblem, t } from "./core.js";
import { AT_THE_DOOR, atTheDoor, isOpen, rememberPage } from "./entry.js";
import { basketElsewhere, holdElsewhere, holdOf, Intent, labelsOf } from "./holds.js";
import { journeyWords } from "./journey.js";
import { Live } from "./live.js";
import { RoomNews } from "./room-news.js";
import { reachWhileScrollable } from "./scrollable.js";
import { endChoiceTime } from "./seats-clock.js";
import { HeldBar } from "./seats-held.js";
import { tellOrders } from "./seats-ordered.js";
import { SharedBasket } from "./seats-shared.js";
import { Waiting } from "./seats-wait.js";
import { knowsPass, StillHere, tellPassEnded } from "./still-here.js";

const { show: doc, room, from, to, departs } = data;
const stretch = { from, to, ...(departs ? { departs } : {}) };
const classes = data.classes ?? [];
const short = classes.filter(({ enough }) => !enough);
const form = $("train-form");
const intent = new Intent();
const bar = new HeldBar(doc.show, room?.room, {
  changed(labels) {
    showChoice(labels);
    show($("held-journey"), Boolean(bar.hold?.journey));
    if (bar.hold?.journey) put("held-journey", journeyWords(bar.hold.journey));
  },
  ended() {
    form?.querySelector("button")?.focus({ preventScroll: true });
    if (waiting.isWaiting()) waiting.look();
    else waiting.render();
  },
  refused: (problem) => refused(problem),
});
const slug = room?.room ?? "everyday";
const lobby = `/r/${encodeURIComponent(slug)}`;
const labelOf = (kind) => classes.find((one) => one.class === kind)?.label ?? kind;
const waiting = new Waiting(
  {
    show: doc.show,
    title: doc.title,
    room,
    lobby,
    heldId: () => bar.hold?.hold,
    choices: classes.map((one) => ({ value: one.class, text: one.label })),
    wants: (kind) => ({ class: kind, from, to }),
    journey: (waiter) => `${journeyWords(waiter.journey)} · ${labelOf(waiter.class)}`,
    // The waitlist is for the first ride of a train only, and `departs` names another one.
    full: !departs && classes.length > 0 && short.length === classes.length,
  },
  {
    taken: (held) => taken(held),
    waits: () => followRoom(),
  },
);
const news = new RoomNews(room, () => {
  showChoice(bar.labels());
  waiting.setOver(news.isOver);
});
const still = new StillHere(slug, passEnded);
const live = new Live(slug, { frame: (frame) => frames[frame.type]?.(frame) });
const frames = {
  offer: (frame) => frame.show === doc.show && waiting.look(),
  room: (frame) => news.room(frame),
  closed: (frame) => news.closed(frame),
  idle: (frame) => still.heard(frame),
  pass_ended: (frame) => still.heard(frame),
};

/**
 * Opens the room's socket while the visitor waits or is in. It reports an offer at once, asks
 * whether the visitor is still there, and shows the server that the visitor is present even if the
 * page is in the background. Without a line, the page gets a new pass by itself and needs no
 * question.
 */
function followRoom() {
  if (waiting.isWaiting() || (!isOpen(room) && knowsPass(slug))) live.start();
  else live.stop();
}

/** Says that the pass has ended early. Without a line, the page gets another one by itself. */
function passEnded(cause) {
  endChoiceTime();
  if (isOpen(room)) return;
  rememberPage(slug, doc.title);
  tellPassEnded(slug, cause);
}

/** The carriages in which a traveller picks seats, once they are opened. */
let ownSeats = null;

/** Shows the parts that make a new basket. While seats are held, no others can be chosen. */
function showChoice(labels) {
  show(form, !bar.hold && !news.isOver);
  show($("stretch"), !bar.hold);
  showOwn(labels);
}

/** Shows held seats in the carriages. */
function showOwn(labels) {
  show($("own"), (!bar.hold && !news.isOver) || ownSeats !== null);
  ownSeats?.setHeld(labels, news.isOver);
}

async function openOwn() {
  $("own-open").disabled = true;
  const { openCarriages } = await import("./train-seats.js").catch(() => ({}));
  $("own-open").disabled = false;
  if (!openCarriages) return showProblem({ code: "offline", status: 0 }, {}, [{ label: t("common.try_again"), run: openOwn }]);
  show($("own-open"), false);
  show($("own-seats"), true);
  const page = { doc, room, lobby, stretch, legs: data.legs, classes, first: form.querySelector("input[name=class]:checked")?.value, actions: helpAfter };
  ownSeats = await openCarriages(page, {
    held: (held) => taken(held),
    wait: () => wish(),
    existing: showElsewhere,
    dropTaken: (picker, changed) => shared.dropTaken(picker, changed),
    hold: (frame) => bar.signalled(frame),
    offer: (frame) => frame.show === doc.show && waiting.look(),
    news,
    still,
  });
  showOwn(bar.labels());
  $("map").focus({ preventScroll: true });
}

/** The class with too few seats that the page was opened for, or the first one. */
const firstShort = (short.find((one) => one.class === data.class) ?? short[0])?.class;

/** Opens the waitlist's form for a class that has too few seats. */
function wish(kind = firstShort) {
  waiting.wish({ quantity: Math.max(1, Math.floor(Number($("travellers").value)) || 1), category: kind });
}

/** Whether a call runs that holds the seats that the form asks for. */
let isHolding = false;

/**
 * Holds the seats that the form asks for. `again` is true if the traveller wants more seats on a
 * journey that the traveller has already ordered.
 */
async function hold(event, again = false) {
  event?.preventDefault();
  const quantity = Math.floor(Number($("travellers").value));
  const valid = quantity >= 1;
  $("travellers").setAttribute("aria-invalid", String(!valid));
  if (!valid) return $("travellers").focus();
  const kind = form.querySelector("input[name=class]:checked")?.value;
  if (!kind) return wish();
  isHolding = $("hold").disabled = true;
  put("hold", t("seats.holding"));
  const isHeld = await showElsewhere(false);
  const ask = { ...stretch, best: { quantity, class: kind }, ...(again ? { again } : {}) };
  const send = () => intent.send("POST", `/v1/shows/${encodeURIComponent(doc.show)}/holds`, ask);
  const answer = isHeld ? null : await atTheDoor(room, doc.title, send, () => showElsewhere(true));
  isHolding = $("hold").disabled = false;
  put("hold", t("train.hold"));
  if (!answer) return;
  if (!answer.ok) return refused(answer.problem, again);
  showProblem(null);
  taken(answer.body);
}

function taken(held) {
  bar.take(held);
  followRoom();
  waiting.render();
  announce(t("seats.held_said", { n: held.seats.length }), true);
  $("held-title").focus({ preventScroll: true });
  $("held").scrollIntoView({ block: "nearest" });
}

/**
 * Finds the basket that another device of the visitor made, shows it and says so. Returns whether
 * there is one. `isNew`: the page has just got the pass of that device.
 */
async function showElsewhere(isNew) {
  const held = await (isNew ? holdElsewhere : basketElsewhere)(doc.show, room?.room);
  if (!held) return false;
  taken(held);
  showProblem({ code: "held_elsewhere", status: 422 }, { seats: held.seats.map(({ label }) => label).join(", ") });
  return true;
}

/** Shows a basket that another device has made, without moving the page. */
function adopt(held) {
  const isFocused = form?.contains(document.activeElement);
  bar.take(held);
  if (isFocused) $("held-title").focus({ preventScroll: true });
  waiting.render();
  announce(t("seats.held_elsewhere_said", { n: held.seats.length }), true);
}

/**
 * Returns the actions that may help after a refusal on a train. `ask` makes the call again, with
 * more fields if it is given some.
 */
function helpAfter(problem, ask) {
  const actions = [];
  if (problem.code === "journey_held" && problem.hold) actions.push({ label: t("seats.to_checkout"), href: `/checkout/${encodeURIComponent(problem.hold)}` });
  if (problem.code === "journey_ordered" && problem.order) actions.push({ label: t("train.to_order"), href: `/o/${encodeURIComponent(problem.order)}` }, { label: t("train.more_seats"), run: () => ask({ again: true }) });
  if (problem.code === "departed") actions.push({ label: t("train.search"), href: "/rail" });
  return actions;
}

function refused(problem, again = false) {
  const actions = [];
  if (AT_THE_DOOR.includes(problem.code)) endChoiceTime();
  if (AT_THE_DOOR.includes(problem.code)) actions.push({ label: t("common.to_lobby"), href: problem.room ? `/r/${encodeURIComponent(problem.room)}` : lobby });
  if (problem.code === "best_available_not_found" && problem.seats_in_baskets !== 0) actions.push({ label: t("seats.wait_join"), run: () => wish(form.querySelector("input[name=class]:checked")?.value) });
  if (problem.code === "best_available_not_found") actions.push({ label: t("train.look_again"), run: lookAgain });
  actions.push(...helpAfter(problem, () => hold(null, true)));
  if (mayPass(problem)) actions.push({ label: t("common.try_again"), run: () => hold(null, again) });
  showProblem(problem, { seats: labelsOf(problem.seats).join(", ") || "–" }, actions);
}

/** Loads the page again with the seats that are free now, and keeps what the form asks for. */
function lookAgain() {
  const again = new URL(location.href);
  again.searchParams.set("seats", $("travellers").value);
  again.searchParams.set("class", form.querySelector("input[name=class]:checked")?.value ?? "");
  location.assign(again);
}

const isBusy = () => isHolding || Boolean(ownSeats?.picker.busy);
const shared = new SharedBasket({ show: doc.show, room: room?.room, bar, isBusy }, adopt);

ready();
showChoice([]);
reachWhileScrollable($("held-seats"));
form?.addEventListener("submit", hold);
$("own-open")?.addEventListener("click", openOwn);
if (departs) show($("wait-open"), false);
$("wait-open")?.addEventListener("click", () => wish());
$("wait-category").value = firstShort ?? "";
holdOf(doc.show, room?.room, showProblem).then((held) => {
  if (held) bar.take(held);
  tellOrders(doc.show);
  waiting.setOver(news.isOver);
  followRoom();
  waiting.start();
  shared.start();
});
