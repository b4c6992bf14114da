// The seats that are chosen but not held yet: single seats, a number of seats in an area, or "best
// available". Sends the call for the hold. If the call is refused, shows why, with buttons for what
// may help.

import { $, announce, make, put, show, showProblem, t } from "./core.js";
import { AT_THE_DOOR, atTheDoor } from "./entry.js";
import { FREE } from "./frames.js";
import { indexOf, isAccessible, seatOf } from "./geometry.js";
import { Intent, labelsOf } from "./holds.js";
import { money } from "./money.js";
import { suggestSeats } from "./seat-suggestion.js";
import { endChoiceTime } from "./seats-clock.js";

export class Picker {
  /**
   * `page`: {seats, showDocument, room, lobby, button, stretch, actions(problem, ask)}. `seats` is
   * the `LiveSeatMap`. A click on `button` holds what is chosen. Only trains have the last two:
   * `stretch` is added to each call, and `actions` returns what may help after a refusal.
   *
   * `on`: `changed()`, `held(answer)`, `found(labels)`, `wait(wish)`, `existing()` and `full()`.
   * `found` is called when seats are suggested, and with no labels when none are suggested any
   * more. `wait` is called when best available found nothing and the visitor wants to wait.
   * `existing(isNew)` is called before each call for a hold, and again with `isNew` when the page
   * has just got the pass of another device. `full` is called when the visitor would have too many
   * seats. Each shows the basket of another device of the visitor, and returns whether there is
   * one.
   */
  constructor(page, on) {
    this.page = page;
    this.on = on;
    this.chosen = new Set();
    this.areas = new Map();
    /** The chosen seats that somebody took since the visitor last chose. */
    this.lost = [];
    this.intent = new Intent();
    this.limit = page.showDocument.limits?.seats_per_visitor ?? Infinity;
    this.g = page.seats.g;
    page.button.addEventListener("click", () => this.hold());
    $("clear").addEventListener("click", () => this.clear());
    $("lost-take").addEventListener("click", () => this.takeSuggestion(this.instead));
    // The page of a train finds the best seats in a form of its own.
    if ($("best-form")) this.wireForm();
  }

  wireForm() {
    const { g } = this;
    $("best-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.best();
    });
    for (const zone of g.zones) $("best-zone").append(make("option", { value: zone.key, text: zone.label }));
    show($("best-zone-field"), g.zones.length > 0);
    // Without accessible seats the field is disabled, not hidden, so that the button below it does
    // not move while somebody is about to press it.
    $("best-accessible").disabled = !g.flags.some((_, i) => isAccessible(g, i));
    const priced = g.areas.filter((area) => this.price(area.first));
    show($("areas"), priced.length > 0);
    $("area-list").replaceChildren(...priced.map((area) => this.stepper(area)));
  }

  stepper(area) {
    const words = { area: area.label };
    const shown = make("span", { class: "count", text: "0", "aria-live": "polite" });
    const step = (by) => this.setArea(area, (this.areas.get(area.label) ?? 0) + by);
    const less = make("button", { type: "button", text: "−", "aria-label": t("seats.less", words), onclick: () => step(-1) });
    const more = make("button", { type: "button", text: "+", "aria-label": t("seats.more", words), onclick: () => step(1) });
    const free = make("span", { class: "small muted" });
    area.controls = { shown, less, more, free };
    const name = make("span", {}, make("b", { text: area.label }), ` ${money(this.price(area.first))} `, free);
    return make("li", { class: "stepper", "data-area": area.label }, name, make("span", { class: "buttons" }, less, shown, more));
  }

  state(index) {
    return this.page.seats.states[index];
  }

  price(index) {
    return this.g.categories[this.g.category[index]]?.price;
  }

  freeIn(area) {
    let free = 0;
    for (let i = area.first; i < area.end; i++) if (this.state(i) === FREE) free += 1;
    return free;
  }

  setArea(area, quantity) {
    const quantityMax = Math.min(this.freeIn(area), this.limit - this.total() + (this.areas.get(area.label) ?? 0));
    const taken = Math.max(0, Math.min(quantity, quantityMax));
    if (taken) this.areas.set(area.label, taken);
    else this.areas.delete(area.label);
    this.render();
  }

  total() {
    return this.chosen.size + [...this.areas.values()].reduce((sum, n) => sum + n, 0);
  }

  toggle(index) {
    if (this.chosen.has(index)) this.chosen.delete(index);
    else if (this.state(index) !== FREE) return announce(`${this.page.seats.name(index)}: ${t(`seats.${["free", "held", "sold", "blocked"][this.state(index)]}`)}`, true);
    else if (this.total() >= this.limit) return showProblem({ code: "limit_exceeded", status: 422 });
    else this.chosen.add(index);
    this.forgetLost();
    this.render();
    this.on.changed();
    const words = { seat: this.page.seats.name(index), price: money(this.price(index)), total: money(this.sum()), n: this.total() };
    announce(this.chosen.has(index) ? t("seats.picked", words) : t("seats.unpicked", words), true);
  }

  /**
   * Returns the price of everything that is chosen. Returns null if nothing is chosen or something
   * has no price.
   */
  sum() {
    const prices = [...this.chosen].map((i) => [this.price(i), 1]);
    for (const area of this.g.areas) if (this.areas.has(area.label)) prices.push([this.price(area.first), this.areas.get(area.label)]);
    if (!prices.length || prices.some(([price]) => !price)) return null;
    return { amount: prices.reduce((sum, [price, n]) => sum + n * price.amount, 0), currency: prices[0][0].currency };
  }

  clear() {
    this.chosen.clear();
    this.areas.clear();
    this.forgetLost();
    this.render();
    this.on.changed();
  }

  /**
   * Removes chosen seats that are no longer free, and says so. While a call for a hold runs, the
   * seats may be taken by this call.
   */
  dropTaken(changed) {
    if (this.busy) return;
    const taken = this.removeTaken(changed);
    const isStale = this.instead?.seats.some((label) => this.state(indexOf(this.g, label)) !== FREE && !this.chosen.has(indexOf(this.g, label)));
    if (taken.length) this.lost.push(...taken);
    if (taken.length || isStale) this.tellLost();
    if (taken.length) this.on.changed();
    if (taken.length || this.g.areas.length) this.render();
  }

  /** Returns the chosen seats among the changed ones that are no longer free. */
  takenAmong(changed) {
    return [...this.chosen].filter((i) => (changed === "all" || changed.includes(i)) && this.state(i) !== FREE);
  }

  removeTaken(changed) {
    const taken = this.takenAmong(changed);
    for (const i of taken) this.chosen.delete(i);
    return taken;
  }

  /** Says which chosen seats somebody took, and suggests others. */
  tellLost() {
    const seats = suggestSeats(this.g, this.page.seats.states, { lost: this.lost, kept: [...this.chosen] });
    this.instead = seats && { seats: seats.map((i) => seatOf(this.g, i).label), areas: [] };
    const labels = this.instead?.seats ?? [];
    const what = t("seats.lost", { n: this.lost.length, seats: this.lost.map((i) => seatOf(this.g, i).label).join(", ") });
    const offer = labels.length ? t("seats.take_suggestion", { seats: labels.join(", ") }) : t("seats.lost_none");
    put("lost-what", labels.length ? what : `${what} ${offer}`);
    put("lost-take", offer);
    show($("lost-take"), labels.length > 0);
    show($("lost"));
    this.on.found(labels);
    announce(labels.length ? `${what} ${t("seats.lost_said", { button: offer })}` : `${what} ${offer}`, true);
  }

  forgetLost() {
    if (!this.lost.length) return;
    this.lost = [];
    this.instead = null;
    show($("lost"), false);
    this.on.found([]);
  }

  render() {
    const { g } = this;
    const n = this.total();
    const seats = [...this.chosen].map((i) => {
      const { label } = seatOf(g, i);
      const remove = make("button", { type: "button", "aria-label": t("seats.change_remove", { seat: label }), text: "×", onclick: () => this.toggle(i) });
      return make("li", { "data-seat": label }, make("span", { text: [this.page.seats.name(i), money(this.price(i))].filter(Boolean).join(" · ") }), remove);
    });
    const places = [...this.areas].map(([label, quantity]) => make("li", { text: `${quantity} × ${label}` }));
    $("chosen").replaceChildren(...seats, ...places);
    show($("chosen-none"), n === 0);
    show($("clear"), n > 0);
    show($("chosen-sum"), n > 0);
    put("chosen-total", money(this.sum()));
    const { button } = this.page;
    button.disabled = n === 0 || Boolean(this.busy);
    put(button.id, this.busy ? t("seats.holding") : n ? t("seats.hold", { n }) : t("seats.hold_nothing"));
    for (const area of g.areas) {
      if (!area.controls) continue;
      const { shown, less, more, free } = area.controls;
      const quantity = this.areas.get(area.label) ?? 0;
      const left = this.freeIn(area);
      if (shown.textContent !== String(quantity)) shown.textContent = String(quantity);
      free.textContent = t("seats.area_free", { n: left });
      less.disabled = quantity === 0;
      more.disabled = quantity >= left || n >= this.limit;
    }
  }

  // --- Calls for a hold ---

  hold() {
    const labels = [...this.chosen].map((i) => seatOf(this.g, i).label);
    const areas = [...this.areas].map(([label, quantity]) => ({ label, quantity }));
    return this.ask({ ...(labels.length ? { seats: labels } : {}), ...(areas.length ? { areas } : {}) });
  }

  best() {
    const number = (id) => Math.floor(Number($(id).value));
    const quantity = number("best-quantity");
    const valid = quantity >= 1;
    $("best-quantity").setAttribute("aria-invalid", String(!valid));
    if (!valid) return $("best-quantity").focus();
    const accessible = Math.min(quantity, Math.max(0, number("best-accessible") || 0));
    const [category, zone] = [$("best-category").value, $("best-zone").value];
    this.wished = { quantity, category, accessible };
    return this.ask({ best: { quantity, ...(category ? { categories: [category] } : {}), ...(zone ? { zone } : {}), ...(accessible ? { accessible } : {}) } });
  }

  async ask(body) {
    if (this.busy) return;
    this.busy = true;
    this.render();
    const find = $("best-find");
    if (find) find.disabled = true;
    const { show: slug, title } = this.page.showDocument;
    const isHeld = await this.on.existing(false);
    const send = () => this.intent.send("POST", `/v1/shows/${encodeURIComponent(slug)}/holds`, { ...this.page.stretch, ...body });
    const answer = isHeld ? null : await atTheDoor(this.page.room, title, send, () => this.on.existing(true));
    this.busy = false;
    if (find) find.disabled = false;
    if (!answer) return this.clear();
    if (answer.ok) {
      showProblem(null);
      this.clear();
      return this.on.held(answer.body);
    }
    if (answer.problem.code === "seats_taken") this.removeTaken("all");
    else this.dropTaken("all");
    this.on.changed();
    this.render();
    if (answer.problem.code === "limit_exceeded" && (await this.on.full?.())) return;
    this.refused(answer.problem, (more) => this.ask({ ...body, ...more }));
  }

  /**
   * Shows why the call was refused, and offers what may help: the suggested seats, the lobby, the
   * waitlist, or the same call again. `ask` makes the call again, with more fields if it is given
   * some.
   */
  refused(problem, ask = () => showProblem(null)) {
    const seats = labelsOf(problem.seats).join(", ") || "–";
    const orphans = labelsOf(problem.orphans ?? problem.seats).join(", ") || "–";
    const actions = [];
    const suggestion = { seats: labelsOf(problem.suggestion), areas: problem.suggestion?.areas ?? [] };
    const offered = [...suggestion.seats, ...suggestion.areas.map(({ label, quantity }) => `${quantity} × ${label}`)].join(", ");
    this.on.found(suggestion.seats);
    if (offered) actions.push({ label: t("seats.take_suggestion", { seats: offered }), run: () => this.takeSuggestion(suggestion) });
    if (AT_THE_DOOR.includes(problem.code)) endChoiceTime();
    if (AT_THE_DOOR.includes(problem.code)) actions.push({ label: t("common.to_lobby"), href: problem.room ? `/r/${encodeURIComponent(problem.room)}` : this.page.lobby });
    if (problem.status === 0 || problem.status >= 500 || problem.code === "idempotency_in_flight") actions.push({ label: t("common.try_again"), run: () => ask() });
    if (problem.code === "best_available_not_found" && problem.seats_in_baskets !== 0) actions.push({ label: t("seats.wait_join"), run: () => this.on.wait(this.wished) });
    actions.push(...(this.page.actions?.(problem, ask) ?? []));
    showProblem(problem, { seats, orphans }, actions);
  }

  takeSuggestion({ seats, areas }) {
    this.forgetLost();
    this.on.found([]);
    this.chosen = new Set(seats.map((label) => indexOf(this.g, label)).filter((i) => i !== undefined));
    this.areas = new Map(areas.map(({ label, quantity }) => [label, quantity]));
    this.render();
    this.on.changed();
    return this.hold();
  }
}
