// The carriages of a train, where a traveller picks seats for a stretch. Loaded when they are
// opened.

import { $, make, put, show, t } from "./core.js";
import { seatOf } from "./geometry.js";
import { showChoiceTime } from "./seats-clock.js";
import { LiveSeatMap, loadPlan } from "./seats-map.js";
import { Picker } from "./seats-pick.js";

/**
 * Loads and shows the carriages. Returns null after it has shown why there are none. `page`: {doc,
 * room, lobby, stretch, legs, classes, first, actions}, where `first` is the class whose carriage
 * is shown first. `on`: `held(answer)`, `wait()`, `existing(isNew)`, `dropTaken(picker, changed)`,
 * the socket's frames `hold(frame)` and `offer(frame)`, `news` and `still`.
 */
export async function openCarriages(page, on) {
  const loaded = await loadPlan(page.doc.show);
  if (!loaded) return null;
  showChoiceTime(page.room, loaded.snapshot);
  const carriages = new Carriages(loaded.plan, page, on);
  carriages.seats.start(loaded.snapshot);
  return carriages;
}

class Carriages {
  constructor(plan, page, on) {
    this.page = page;
    this.held = [];
    this.mayPick = true;
    const sections = plan.sections.map((n) => t("train.carriage", { n }));
    const categories = page.classes.map(({ class: key, label, price }) => ({ key, label, price }));
    const of = { slug: page.doc.show, room: page.room?.room ?? "everyday", plan: { ...plan, sections }, categories, kind: "train", legs: page.legs, name: seatName };
    this.seats = new LiveSeatMap(of, {
      pick: (i) => this.mayPick && this.picker.toggle(i),
      own: () => new Set([...this.held, ...this.picker.chosen]),
      changed: (changed) => on.dropTaken(this.picker, changed),
      counted: (free, held, sold) => this.counted(free, held, sold),
      area: () => {},
      hold: on.hold,
      offer: on.offer,
      news: on.news,
      still: on.still,
    });
    const picks = { seats: this.seats, showDocument: page.doc, room: page.room, lobby: page.lobby, button: $("hold-own"), stretch: page.stretch, actions: page.actions };
    this.picker = new Picker(picks, {
      changed: () => this.seats.mark("all"),
      held: on.held,
      found: (labels) => this.seats.map.setFound(this.seats.indicesOf(labels)),
      wait: on.wait,
      existing: on.existing,
    });
    this.buttons = this.seats.g.sections.map((section, k) => this.button(section, k));
    $("carriages").replaceChildren(...this.buttons.map(({ button }) => make("li", {}, button)));
  }

  button(section, k) {
    const { g } = this.seats;
    const free = make("span", { class: "small" });
    const kind = g.categories[g.category[section.seats[0]]].label;
    const button = make("button", { type: "button", "data-carriage": String(k + 1), onclick: () => this.look(k) }, make("b", { text: section.name }), free);
    return { button, free, kind };
  }

  look(k) {
    this.seats.map.showSection(k);
  }

  /**
   * Shows the seats in the visitor's basket. Without any, the visitor may choose seats, unless the
   * sale is over.
   */
  setHeld(labels, isOver) {
    this.held = this.seats.indicesOf(labels);
    this.isHeld = labels.length > 0;
    this.mayPick = !this.isHeld && !isOver;
    if (!this.mayPick && this.picker.total() && !this.picker.busy) this.picker.clear();
    for (const id of ["own-lead", "own-chosen", "own-list"]) show($(id), this.mayPick);
    put("own-title", t(this.isHeld ? "train.own_held" : "train.own_title"));
    this.seats.mark("all");
    if (this.isHeld) this.seats.map.showSeats(this.held);
  }

  counted(free, held, sold) {
    put("counts", t("seats.free_count", { free, held, sold }));
    const { map } = this.seats;
    for (const [k, { free: at, kind }] of this.buttons.entries()) at.textContent = t("train.carriage_free", { class: kind, n: map.freeOf[k] });
    if (this.looked) return;
    this.looked = true;
    const { g } = this.seats;
    const isFirst = ({ seats }, k) => map.freeOf[k] > 0 && (!this.page.first || g.categories[g.category[seats[0]]].key === this.page.first);
    this.look(Math.max(0, g.sections.findIndex(isFirst)));
  }
}

/** Returns a seat's name, such as "Carriage 3, seat 12F". */
function seatName(g, i) {
  const { section, number } = seatOf(g, i);
  return t("train.seat", { carriage: section, seat: number });
}
