// The waitlist of a show or of a train. The visitor joins it, sees how many parties are ahead and
// sees an offer with its clock. The visitor accepts or declines the offer, or leaves the waitlist.
// An accepted offer is a basket. Each request for the state, and the live socket, also shows the
// server that the visitor is present.

import { $, announce, call, kept, make, put, raw, show, showProblem, t } from "./core.js";
import { Countdown } from "./countdown.js";
import { AT_THE_DOOR, atTheDoor } from "./entry.js";
import { Intent } from "./holds.js";
import { money } from "./money.js";
import { skewOf } from "./skew.js";

/**
 * If an acceptance is refused with one of these codes, the offer can still be ordered as it is.
 * Either the sale has ended, or the server is of an earlier release that does not know the call.
 */
const ORDERED_AS_IT_IS = ["sales_ended", "not_found"];

export class Waiting {
  /**
   * `page`: {show, title, room, lobby, heldId(), choices, wants(choice), journey(waiter), full}.
   * `choices` are the options as `{value, text}`. `wants` returns what a choice adds to the body of
   * the call. Only trains have the last two: `journey` returns a party's journey in words, and
   * `full` says that too few seats are free when the page opens.
   *
   * `on`: `taken(hold)` is called when the visitor has accepted an offer, and `waits(isWaiting)`
   * after each change of the state.
   */
  constructor(page, on) {
    this.page = page;
    this.on = on;
    this.path = `/v1/shows/${encodeURIComponent(page.show)}/waitlist`;
    this.waiter = null;
    this.inBaskets = 0;
    this.soldOut = false;
    this.full = page.full ?? false;
    this.asked = false;
    this.isOver = false;
    this.intent = new Intent();
    this.clock = new Countdown($("wait-clock"), () => this.look());
    this.end = new Countdown($("wait-more"), () => this.look(), (time) => t("seats.wait_more", { n: this.waiter?.quantity, time }));
    $("wait-category").replaceChildren(...page.choices.map(({ value, text }) => make("option", { value, text })));
    $("wait-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.join();
    });
    $("wait-take").addEventListener("click", () => this.take());
    $("wait-decline").addEventListener("click", () => this.decline());
    $("wait-leave").addEventListener("click", () => this.leave());
    $("wait-close").addEventListener("click", () => this.put(null));
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.isWaiting() && this.look());
  }

  isWaiting() {
    return ["waiting", "offered"].includes(this.waiter?.state);
  }

  /**
   * Receives the counts of free and held seats. If no seat is free and some are held, the page
   * offers the waitlist.
   */
  counted(free, held) {
    this.inBaskets = held;
    this.soldOut = free === 0 && held > 0;
    this.render();
  }

  /** Invites nobody any more once no seats can be chosen. */
  setOver(isOver) {
    this.isOver = isOver;
    this.render();
  }

  /** Opens the form with the seats that the visitor looked for and did not find. */
  wish({ quantity, category, accessible }) {
    $("wait-quantity").value = quantity;
    $("wait-category").value = category ?? "";
    this.accessible = accessible;
    this.asked = true;
    showProblem(null);
    this.render();
    $("wait").scrollIntoView({ block: "nearest" });
    $("wait-join").focus();
  }

  /** Fetches the visitor's state on the waitlist, if this browser joined it before. */
  start() {
    if (kept.get(`waiting.${this.page.show}`)) this.look();
  }

  async look() {
    clearTimeout(this.timer);
    const waiterBefore = this.waiter?.waiter;
    const answer = await call("GET", this.path);
    if (this.waiter?.waiter !== waiterBefore) return;
    if (answer.ok) this.put(answer.body);
    else if (answer.status === 404) this.put(null);
    else this.later(2 * (this.waiter?.refresh_s ?? 5));
  }

  later(seconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), seconds * 1000 * (0.9 + 0.2 * Math.random()));
  }

  put(waiter) {
    clearTimeout(this.timer);
    const stateBefore = this.waiter?.state;
    this.waiter = waiter;
    this.on.waits?.(this.isWaiting());
    if (waiter) kept.set(`waiting.${this.page.show}`, true);
    else kept.remove(`waiting.${this.page.show}`);
    if (this.isWaiting()) this.later(waiter.refresh_s ?? 5);
    if (waiter?.state === "offered" && stateBefore !== "offered") this.offered();
    else if (waiter?.state !== "offered") this.clock.stop();
    if (waiter?.state === "ended" && stateBefore && stateBefore !== "ended") announce(this.lead(), true);
    this.render();
  }

  offered() {
    this.clock.start(this.waiter.offer.expires_at, skewOf(this.waiter.server_time));
    announce(t("seats.wait_offered_said", { n: this.waiter.offer.seats.length, total: money(this.waiter.offer.total) }), true);
    if (this.page.heldId() !== this.waiter.offer.hold) $("wait").scrollIntoView({ block: "nearest" });
  }

  lead() {
    const waiter = this.waiter;
    if (waiter?.state === "waiting") return waiter.ahead ? t("seats.wait_ahead", { n: waiter.ahead }) : t("seats.wait_first");
    if (waiter?.state === "offered") return t("seats.wait_offered");
    if (waiter?.state === "ended") return t([`train.wait_ended_${waiter.reason}`, `seats.wait_ended_${waiter.reason}`].find(raw));
    return this.soldOut ? t("seats.wait_lead", { n: this.inBaskets }) : t("seats.wait_lead_asked");
  }

  render() {
    const state = this.waiter?.state ?? "none";
    const offer = state === "offered" ? this.waiter.offer : null;
    const isTaken = offer !== null && this.page.heldId() === offer.hold;
    const invited = state === "none" && !this.isOver && !this.page.heldId() && (this.soldOut || this.full || this.asked);
    show($("wait"), !isTaken && (state !== "none" || invited));
    $("wait").dataset.state = state;
    $("wait").dataset.missed = String(this.waiter?.missed ?? 0);
    put("wait-title", t(`seats.wait_title_${state}`));
    put("wait-lead", this.lead());
    put("wait-journey", this.waiter?.journey ? this.page.journey(this.waiter) : "");
    this.countDown(state === "waiting" ? this.waiter.until : null);
    put("wait-missed", state === "waiting" && this.waiter.missed ? t("seats.wait_missed", { n: this.waiter.missed }) : "");
    show($("wait-form"), invited);
    $("wait-seats").replaceChildren(...(offer?.items ?? []).map(({ label, category, price }) => make("li", { "data-seat": label }, make("span", { text: [label, category, money(price)].filter(Boolean).join(" · ") }))));
    show($("wait-sum"), offer !== null);
    put("wait-total", money(offer?.total));
    for (const [id, states] of [["wait-take", ["offered"]], ["wait-decline", ["offered"]], ["wait-leave", ["waiting", "offered"]], ["wait-close", ["ended"]]]) show($(id), states.includes(state));
  }

  /** Shows how long the visitor waits at most. */
  countDown(until) {
    if (until === this.until) return;
    this.until = until;
    if (until) this.end.start(until, skewOf(this.waiter.server_time));
    else this.end.stop();
  }

  // --- Actions of the visitor ---

  async join() {
    const quantity = Math.floor(Number($("wait-quantity").value));
    const valid = quantity >= 1;
    $("wait-quantity").setAttribute("aria-invalid", String(!valid));
    if (!valid) return $("wait-quantity").focus();
    const accessible = this.accessible ? { accessible: Math.min(quantity, this.accessible) } : {};
    const body = { quantity, ...this.page.wants($("wait-category").value), ...accessible };
    const answer = await this.working("wait-join", () => atTheDoor(this.page.room, this.page.title, () => this.intent.send("POST", this.path, body)));
    if (!answer.ok) return this.refused(answer.problem);
    showProblem(null);
    this.asked = false;
    this.put(answer.body);
    announce(t("seats.wait_joined"), true);
    $("wait-title").focus({ preventScroll: true });
  }

  /** Accepts the offer. A second tap gets the same basket, even in another tab. */
  async take() {
    const path = `/v1/holds/${encodeURIComponent(this.waiter.offer.hold)}`;
    const accepted = await this.working("wait-take", () => this.intent.send("POST", `${path}/accept`, {}));
    const answer = ORDERED_AS_IT_IS.includes(accepted.problem?.code) ? await call("GET", path) : accepted;
    if (!answer.ok) return this.refused(answer.problem);
    showProblem(null);
    this.on.taken(answer.body);
    if (accepted.ok) this.put(null);
    else this.render();
  }

  async decline() {
    const { hold } = this.waiter.offer;
    const answer = await this.working("wait-decline", () => call("DELETE", `/v1/holds/${encodeURIComponent(hold)}`));
    if (!answer.ok && answer.status !== 410) return this.refused(answer.problem);
    showProblem(null);
    this.look();
  }

  async leave() {
    const answer = await this.working("wait-leave", () => call("DELETE", this.path));
    if (!answer.ok && answer.status !== 404) return this.refused(answer.problem);
    showProblem(null);
    announce(t("seats.wait_left"), true);
    this.put(null);
  }

  refused(problem) {
    if (problem.code === "hold_expired") return this.look();
    const actions = AT_THE_DOOR.includes(problem.code) ? [{ label: t("common.to_lobby"), href: this.page.lobby }] : [];
    showProblem(problem, {}, actions);
  }

  async working(id, act) {
    $(id).disabled = true;
    const answer = await act();
    $(id).disabled = false;
    return answer;
  }
}
