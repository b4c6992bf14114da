// The page of a show: connects the map with its list and feed, the choice of seats, the bar of the
// hold and the waitlist. Each of these has a file of its own.

import { $, announce, data, put, ready, show, showProblem, t, when } from "./core.js";
import { Countdown } from "./countdown.js";
import { isOpen, rememberPage } from "./entry.js";
import { basketElsewhere, holdElsewhere, holdOf } from "./holds.js";
import { money } from "./money.js";
import { RoomNews } from "./room-news.js";
import { endChoiceTime, showChoiceTime } from "./seats-clock.js";
import { SeatFilter } from "./seats-filter.js";
import { reachWhileScrollable } from "./scrollable.js";
import { HeldBar } from "./seats-held.js";
import { LiveSeatMap, loadPlan } from "./seats-map.js";
import { tellOrders } from "./seats-ordered.js";
import { Picker } from "./seats-pick.js";
import { SharedBasket } from "./seats-shared.js";
import { Waiting } from "./seats-wait.js";
import { seatName } from "./seats-words.js";
import { skewOf } from "./skew.js";
import { StillHere, tellPassEnded } from "./still-here.js";

const doc = data.show;
// An announced show may have no room. Its seats are shown through the room that is always there.
const room = data.room?.room ?? data.room ?? doc.room ?? "everyday";
// Whether the show sells no more seats. If so, the page shows the visitor's hold, and nothing can
// be chosen.
const over = doc.fate === "cancelled" || doc.sales_ended === true || doc.state === "announced";
const lobby = `/r/${encodeURIComponent(room)}`;

async function start() {
  const loading = loadPlan(doc.show);
  ready();
  if ($("sells-until")) countDown($("sells-until"), doc.sells_until);
  if (doc.sales_ended && doc.fate !== "cancelled") put("fate", t("seats.sales_ended", { time: when(doc.sells_until) }));
  for (const price of document.querySelectorAll(".price")) price.textContent = money({ amount: Number(price.dataset.amount), currency: price.dataset.currency });
  const loaded = await loading;
  if (loaded) new SeatsPage(loaded.plan).start(loaded.snapshot);
}

/** An end of the sale that is at most this far away is shown as a countdown. */
const SOON_MS = 3_600_000;

/** Shows when the sale ends. In its last hour, shows how long it still lasts. */
function countDown(element, until) {
  const skew = skewOf(data.now);
  const left = Date.parse(until) - skew - Date.now();
  put(element.id, t("seats.sells_until", { time: when(until) }));
  if (left > SOON_MS) return void (left < 2 ** 31 && setTimeout(() => countDown(element, until), left - SOON_MS));
  const sayEnded = () => put(element.id, t("seats.sales_ended", { time: when(until) }));
  new Countdown(element, sayEnded, (time) => t("seats.sells_for", { time })).start(until, skew);
}

/** The parts of the page, and what they tell each other. */
class SeatsPage {
  constructor(plan) {
    this.heldOwn = [];
    this.isSoldOut = $("sold-out")?.hidden === false;
    this.news = new RoomNews(data.room, () => this.roomChanged());
    this.still = new StillHere(room, (cause) => this.passEnded(cause));
    this.seats = this.makeSeats(plan);
    this.picker = this.makePicker();
    this.bar = this.makeBar();
    this.waiting = this.makeWaiting();
    const page = { show: doc.show, room, bar: this.bar, isBusy: () => Boolean(this.picker.busy) };
    this.shared = new SharedBasket(page, (held) => this.adopt(held));
    new SeatFilter(this.seats.g, (fits) => this.seats.setFilter(fits));
  }

  start(snapshot) {
    this.showPick();
    for (const part of [$("held-seats"), $("chosen"), document.querySelector(".sheet")]) reachWhileScrollable(part);
    this.seats.start(snapshot);
    holdOf(doc.show, room, showProblem).then((held) => {
      if (held) this.bar.take(held);
      showChoiceTime(data.room, snapshot);
      tellOrders(doc.show);
      this.waiting.setOver(over || this.news.isOver);
      this.waiting.start();
      this.shared.start();
    });
  }

  // --- The parts ---

  makeSeats(plan) {
    const of = { slug: doc.show, room, plan, categories: doc.categories, kind: doc.has_screen ? "hall" : undefined, name: seatName };
    return new LiveSeatMap(of, {
      pick: (i) => this.pick(i),
      own: () => this.own(),
      changed: (changed) => this.shared.dropTaken(this.picker, changed),
      counted: (free, held, sold) => this.counted(free, held, sold),
      area: () => $("areas").scrollIntoView({ block: "center" }),
      hold: (frame) => this.bar.signalled(frame),
      offer: (frame) => frame.show === doc.show && this.waiting.look(),
      news: this.news,
      still: this.still,
    });
  }

  makePicker() {
    const page = { seats: this.seats, showDocument: doc, room: data.room, lobby, button: $("hold") };
    return new Picker(page, {
      changed: () => this.seats.mark("all"),
      held: (held) => this.take(held),
      found: (labels) => this.seats.map.setFound(this.seats.indicesOf(labels)),
      wait: (wish) => this.waiting.wish(wish),
      existing: (isNew) => this.findElsewhere(isNew ? holdElsewhere : basketElsewhere),
      full: () => this.findElsewhere(holdElsewhere),
    });
  }

  makeBar() {
    return new HeldBar(doc.show, room, {
      changed: (labels) => {
        this.heldOwn = this.seats.indicesOf(labels);
        this.showPick();
        this.seats.mark("all");
        this.waiting?.render(); // A visitor with a basket is not invited to the waitlist.
      },
      ended: () => {
        this.showPick();
        if (this.waiting.isWaiting()) this.waiting.look();
      },
      // A suggestion would make a new choice of seats instead of changing this hold, so it is left
      // out.
      refused: (problem) => this.picker.refused({ ...problem, suggestion: undefined }),
    });
  }

  makeWaiting() {
    const choices = [...$("best-category").options].map(({ value, text }) => ({ value, text }));
    const wants = (category) => (category ? { categories: [category] } : {});
    const page = { show: doc.show, title: doc.title, room: data.room, lobby, heldId: () => this.bar.hold?.hold, choices, wants };
    return new Waiting(page, { taken: (held) => this.take(held) });
  }

  // --- What happens ---

  pick(i) {
    const { bar, seats } = this;
    if (bar.change) return seats.isFree(i) || this.heldOwn.includes(i) ? bar.toggle(seats.labelOf(i)) : undefined;
    if (this.mayPick()) this.picker.toggle(i);
  }

  /** Returns whether the visitor may choose seats for a new basket. */
  mayPick() {
    return !over && !this.bar.hold && !this.isSoldOut && !this.news.isOver;
  }

  /** Shows the parts that make a new basket, or hides them and ends the choice. */
  showPick() {
    const isFocused = $("pick").contains(document.activeElement);
    show($("pick"), this.mayPick());
    if (this.mayPick()) return;
    if (this.picker.total() && !this.picker.busy) this.picker.clear();
    if (isFocused) $(this.bar.hold ? "held-title" : "main").focus({ preventScroll: true });
  }

  /**
   * Finds the basket that another device of the visitor made, shows it and says so. Returns whether
   * there is one. `find` is `basketElsewhere` or `holdElsewhere`.
   */
  async findElsewhere(find) {
    const held = await find(doc.show, room);
    if (!held) return false;
    this.picker.clear();
    this.take(held);
    showProblem({ code: "held_elsewhere", status: 422 }, { seats: held.seats.map(({ label }) => label).join(", ") });
    return true;
  }

  /** Shows a basket that another device has made, without moving the page. */
  adopt(held) {
    this.picker.clear();
    this.bar.take(held);
    announce(t("seats.held_elsewhere_said", { n: held.seats.length }), true);
  }

  roomChanged() {
    this.showPick();
    this.waiting.setOver(over || this.news.isOver);
  }

  /** Says that the pass has ended early. Without a line, the page gets another one by itself. */
  passEnded(cause) {
    endChoiceTime();
    if (isOpen(data.room)) return;
    rememberPage(room, doc.title);
    tellPassEnded(room, cause);
  }

  own() {
    return new Set([...this.heldOwn, ...this.picker.chosen]);
  }

  counted(free, held, sold) {
    if (over) return;
    put("counts", t("seats.free_count", { free, held, sold }));
    this.tellSoldOut(free === 0 && held === 0 && sold > 0);
    this.waiting.counted(free, held);
  }

  /** Says that the last seat was sold, or that seats have come back. */
  tellSoldOut(isSoldOut) {
    if (isSoldOut === this.isSoldOut) return;
    this.isSoldOut = isSoldOut;
    show($("sold-out"), isSoldOut);
    this.showPick();
    announce(isSoldOut ? `${t("seats.sold_out")} ${t("seats.sold_out_more")}` : t("seats.back_said"), true);
  }

  take(held) {
    this.bar.take(held);
    this.seats.map.showSeats(this.heldOwn);
    announce(t("seats.held_said", { n: held.seats.length }), true);
    $("held-title").focus({ preventScroll: true });
    $("held").scrollIntoView({ block: "nearest" });
  }
}

start();
