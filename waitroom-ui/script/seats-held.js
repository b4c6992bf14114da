// The bar for a hold: its seats, total and clock, and buttons to extend, release or change it and
// to go to the checkout.

import { $, announce, call, data, kept, make, problemShown, put, show, showProblem, span, t } from "./core.js";
import { Countdown } from "./countdown.js";
import { isOpen } from "./entry.js";
import { forgetHold, holdKept, Intent, orderOf, releasedProblem, rememberHold } from "./holds.js";
import { money } from "./money.js";
import { MoreTime } from "./more-time.js";
import { tellOrdered } from "./seats-ordered.js";

/** How often, and after how many ms again, the page asks for the order of a hold. */
const ORDER_TRIES = 4;
const ORDER_PAUSE_MS = 1_000;
/** How often a visible page reads its hold again, in case that it has ended at the server. */
const LOOK_MS = 15_000;

export class HeldBar {
  /**
   * `on`: `changed(labels)` is called when the held or chosen seats have changed, `ended()` when
   * the hold has ended, and `refused(problem)` when a call is refused.
   */
  constructor(showId, room, on) {
    this.showId = showId;
    this.room = room;
    this.on = on;
    this.hold = null;
    this.change = null;
    this.intent = new Intent();
    /** Whether a call runs that changes or ends the hold. */
    this.isBusy = false;
    this.clock = new Countdown($("held-clock"), () => this.lapsed(), undefined, (left) => this.moreTime.offer(left));
    this.moreTime = new MoreTime($("extend"), () => this.hold, {
      extended: (answer) => this.extended(answer),
      refused: (problem) => this.refused(problem),
      busy: (isBusy) => (this.isBusy = isBusy),
    });
    $("release").addEventListener("click", () => this.release());
    $("change")?.addEventListener("click", () => this.beginChange());
    $("change-save").addEventListener("click", () => this.saveChange());
    $("change-cancel").addEventListener("click", () => this.endChange());
    addEventListener("storage", ({ key }) => key === `fairgate.hold.${this.hold?.hold}` && this.storedElsewhere());
    document.addEventListener("visibilitychange", () => this.look());
    this.looking = setInterval(() => this.look(), LOOK_MS);
    // A page that the browser kept while another page was shown got no such events.
    addEventListener("pageshow", ({ persisted }) => persisted && this.hold && this.storedElsewhere());
  }

  /** Reads the hold again, and says so if it has ended before its time. */
  async look() {
    if (!this.hold || this.isBusy || document.visibilityState !== "visible") return;
    const { hold } = this.hold;
    const answer = await call("GET", this.path());
    if (this.hold?.hold !== hold || this.isBusy) return;
    if (answer.status === 410) this.endedElsewhere();
    else if (answer.problem?.code === "show_cancelled") this.cancelled(answer.problem);
  }

  /** Ends the bar, because the show of the hold is cancelled. */
  cancelled(problem) {
    this.end();
    showProblem(problem);
  }

  labels() {
    const held = (this.hold?.seats ?? []).map((seat) => seat.label);
    if (!this.change) return held;
    return [...held.filter((label) => !this.change.remove.has(label)), ...this.change.add];
  }

  /** Shows a hold from the server's answer, or a stored one. */
  take(answer) {
    this.hold = answer.skew_ms === undefined ? rememberHold(this.showId, this.room, answer) : answer;
    this.change = null;
    this.clock.start(this.hold.expires_at, this.hold.skew_ms);
    this.render();
    this.on.changed(this.labels());
  }

  render() {
    show($("held"), Boolean(this.hold));
    if (!this.hold) return;
    const changing = Boolean(this.change);
    const pill = (label, price, kind) => {
      const remove = () => this.toggle(label);
      const word = kind === "remove" ? t("seats.change_keep", { seat: label }) : t("seats.change_remove", { seat: label });
      const button = changing ? [make("button", { type: "button", "aria-label": word, text: kind === "remove" ? "↺" : "×", onclick: remove })] : [];
      return make("li", { "data-seat": label, "data-change": kind }, make("span", { text: [label, money(price), kind === "add" ? t("seats.change_add") : ""].filter(Boolean).join(" · ") }), ...button);
    };
    const held = this.hold.seats.map((seat) => pill(seat.label, seat.price, this.change?.remove.has(seat.label) ? "remove" : undefined));
    const added = [...(this.change?.add ?? [])].map((label) => pill(label, null, "add"));
    $("held-seats").replaceChildren(...held, ...added);
    put("held-total", money(this.hold.total));
    show($("held-away"), Boolean(this.hold.away_s));
    if (this.hold.away_s) put("held-away", t("seats.held_away", { span: span(this.hold.away_s) }));
    show($("held-apart"), this.hold.next_to_each_other === false && this.hold.seats.length > 1);
    this.moreTime.render();
    show($("change-lead"), changing);
    show($("held-actions"), !changing);
    show($("change-actions"), changing);
    $("change-save").disabled = !changing || (!this.change.add.size && !this.change.remove.size);
    $("to-checkout").href = `/checkout/${encodeURIComponent(this.hold.hold)}`;
  }

  // --- Change ---

  beginChange() {
    this.change = { add: new Set(), remove: new Set() };
    this.render();
    $("change-cancel").focus();
  }

  endChange() {
    this.change = null;
    this.render();
    this.on.changed(this.labels());
    $("change").focus();
  }

  /**
   * Adds a seat to the current change, or takes it out of the change again. If the seat is held,
   * the change removes it from the hold. Any other seat is added to the hold.
   */
  toggle(label) {
    const isHeld = this.hold.seats.some((seat) => seat.label === label);
    const set = isHeld ? this.change.remove : this.change.add;
    if (!set.delete(label)) set.add(label);
    this.render();
    this.on.changed(this.labels());
  }

  async saveChange() {
    const body = { add: [...this.change.add], remove: [...this.change.remove] };
    if (body.remove.length === this.hold.seats.length && !body.add.length) return this.release();
    const answer = await this.working($("change-save"), () => this.intent.send("PATCH", this.path(), body));
    if (!answer.ok) return this.refused(answer.problem);
    showProblem(null);
    this.take(answer.body);
    announce(t("seats.changed"), true);
  }

  // --- Time and end ---

  extended(answer) {
    this.take(answer);
    // The button is no longer offered, and must not keep the focus.
    $("held-title").focus({ preventScroll: true });
  }

  async release() {
    const answer = await this.working($("release"), () => call("DELETE", this.path()));
    if (!answer.ok && answer.status !== 404 && answer.status !== 410) return this.refused(answer.problem);
    showProblem(null);
    announce(t("seats.released"), true);
    this.end();
  }

  lapsed() {
    this.end();
    // Whoever has read that the turn is over is not told to choose again.
    if (problemShown() === "pass_ended") return announce(t("problems.hold_expired.what"), true);
    showProblem({ code: "hold_expired", status: 410 });
    if (data.room && !isOpen(data.room)) this.warn();
  }

  /** Says that the next basket whose time runs out may end the turn. */
  warn() {
    show($("lapse-again"));
    announce(t("seats.lapse_again"), true);
  }

  /**
   * Follows another tab of this browser. That tab removes the hold when it gives it back or orders
   * it, and stores the new deadline when it extends the hold.
   */
  storedElsewhere() {
    const stored = holdKept(this.hold.hold);
    if (!stored) this.endedElsewhere();
    else if (stored.expires_at !== this.hold.expires_at) this.moveDeadline(stored.expires_at);
  }

  endedElsewhere() {
    const order = kept.get(`ordered.${this.hold.hold}`);
    // Another tab may notice a moment earlier than this one that the time is over.
    const isOver = Date.parse(this.hold.expires_at) - (this.hold.skew_ms ?? 0) <= Date.now() + 2_000;
    if (order) return this.endOrdered(order);
    if (isOver) return this.lapsed();
    const problem = releasedProblem(this.hold);
    this.end();
    showProblem(...problem);
  }

  /**
   * Follows the news that the hold becomes an order. The news comes a moment before the order can
   * be read. If the order fails, the hold stays.
   */
  async ordered() {
    const { hold } = this.hold;
    let order = null;
    for (let tries = 0; tries < ORDER_TRIES && !order && this.hold?.hold === hold; tries += 1) {
      if (tries) await new Promise((over) => setTimeout(over, ORDER_PAUSE_MS));
      order = kept.get(`ordered.${hold}`) ?? (await orderOf({ hold, show: this.showId, room: this.room }));
    }
    const isOrdered = order || (await call("GET", `/v1/holds/${encodeURIComponent(hold)}`)).body?.state === "ordered";
    // The stored hold may have told the same meanwhile.
    if (isOrdered && this.hold?.hold === hold) this.endOrdered(order);
  }

  /** Ends the bar and says in which order its seats are. `order` is null if it is not known. */
  endOrdered(order) {
    const { hold } = this.hold;
    const labels = this.hold.seats.map(({ label }) => label);
    const isFocused = $("held").contains(document.activeElement);
    if (order) kept.set(`ordered.${hold}`, order);
    this.end();
    tellOrdered(order, labels);
    if (isFocused) $("main").focus({ preventScroll: true });
  }

  end() {
    this.clock.stop();
    if (this.hold) forgetHold(this.showId, this.hold.hold);
    this.hold = this.change = null;
    this.render();
    this.on.changed([]);
    this.on.ended();
  }

  /** Handles a `hold` frame of the live socket. Frames about other holds are ignored. */
  signalled({ hold, state, expires_at }) {
    if (hold !== this.hold?.hold) return;
    if (["lapsed", "expired"].includes(state)) this.lapsed();
    else if (["ordered", "order"].includes(state)) this.ordered();
    else if (state === "released") this.end();
    else if (expires_at && expires_at !== this.hold.expires_at) this.moveDeadline(expires_at);
  }

  /** Shows a deadline that was moved elsewhere. An unsaved change of the seats stays as it is. */
  moveDeadline(expires_at) {
    this.hold = { ...this.hold, expires_at };
    const stored = holdKept(this.hold.hold);
    // What another tab stored with the same deadline may be newer than what this tab knows.
    if (stored?.expires_at !== expires_at) kept.set(`hold.${this.hold.hold}`, this.hold);
    this.clock.start(expires_at, this.hold.skew_ms);
  }

  refused(problem) {
    if (problem.code === "hold_expired") this.endedElsewhere();
    else if (problem.code === "show_cancelled") this.cancelled(problem);
    else this.on.refused(problem);
  }

  path() {
    return `/v1/holds/${encodeURIComponent(this.hold.hold)}`;
  }

  async working(button, act) {
    button.disabled = this.isBusy = true;
    const answer = await act();
    button.disabled = this.isBusy = false;
    return answer;
  }
}
