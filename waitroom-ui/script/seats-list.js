// The accessible alternative to the map: every free seat by section and row, as checkboxes. A
// section is built when it is opened, a few hundred seats at a time. After that only changed seats
// are updated.

import { make, t } from "./core.js";
import { FREE } from "./frames.js";
import { seatOf } from "./geometry.js";

const SEATS_AT_ONCE = 300;

export class SeatList {
  /** `name(index)` returns a seat's full name, `toggle(index)` picks or unpicks it. */
  constructor(root, geometry, { name, toggle }) {
    this.g = geometry;
    this.name = name;
    this.toggle = toggle;
    this.boxes = new Map();
    this.groups = geometry.sections.map((section) => this.group(section));
    root.replaceChildren(...this.groups.map((group) => group.details));
  }

  group(section) {
    const summary = make("summary");
    const body = make("div");
    const details = make("details", {}, summary, body);
    const group = { section, summary, body, details, rowsShown: 0 };
    details.addEventListener("toggle", () => details.open && !group.rowsShown && this.more(group));
    return group;
  }

  more(group) {
    group.body.querySelector(":scope > button")?.remove();
    let seats = 0;
    const { rows } = group.section;
    while (group.rowsShown < rows.length && seats < SEATS_AT_ONCE) {
      const row = rows[group.rowsShown++];
      seats += row.seats.length;
      const heading = make("b", { text: row.label ? t("seats.list_row", { row: row.label }) : "" });
      group.body.append(make("div", { class: "row", role: "group", "aria-label": heading.textContent || this.title(group) }, heading, ...Array.from(row.seats, (i) => this.box(i))));
    }
    if (group.rowsShown < rows.length) {
      group.body.append(make("button", { class: "button plain", type: "button", text: t("seats.list_more"), onclick: () => this.more(group) }));
    }
    this.refreshRows(group);
  }

  box(i) {
    const seat = seatOf(this.g, i);
    const input = make("input", { type: "checkbox", "data-seat": seat.label, "aria-label": this.name(i) });
    input.checked = Boolean(this.own?.has(i));
    input.addEventListener("change", () => {
      this.toggle(i);
      this.place(i); // If the seat could not be picked, the tick is taken back.
    });
    const label = make("label", {}, input, seat.number ?? seat.label, seat.accessible ? " ♿\uFE0E" : "");
    this.boxes.set(i, { label, input });
    this.place(i);
    return label;
  }

  place(i) {
    const box = this.boxes.get(i);
    if (!box || !this.states) return;
    const mine = this.own.has(i);
    box.input.checked = mine;
    box.label.hidden = !this.isOffered(i) && !mine && document.activeElement !== box.input;
    box.input.disabled = this.states[i] !== FREE && !mine;
  }

  /** Shows the new states. `changed`: seat indices or "all". */
  update(states, own, changed) {
    this.states = states;
    this.own = own;
    if (changed === "all") for (const i of this.boxes.keys()) this.place(i);
    else for (const i of changed) this.place(i);
    this.due ||= setTimeout(() => {
      this.due = 0;
      for (const group of this.groups) this.refresh(group);
    }, this.counted ? 800 : 0);
    this.counted = true;
  }

  /** Shows only free seats for which `fits` returns true, or all free seats if it is null. */
  setFilter(fits) {
    this.fits = fits;
    for (const i of this.boxes.keys()) this.place(i);
    for (const group of this.groups) this.refresh(group);
  }

  isOffered(i) {
    return this.states[i] === FREE && (!this.fits || this.fits(i));
  }

  title(group) {
    return group.section.name || t("seats.list_all");
  }

  refresh(group) {
    let n = 0;
    for (const i of group.section.seats) if (this.isOffered(i)) n += 1;
    const words = t("seats.list_section", { section: this.title(group), n });
    if (group.summary.textContent !== words) group.summary.textContent = words;
    if (group.details.open) this.refreshRows(group);
  }

  refreshRows(group) {
    for (const row of group.body.querySelectorAll(".row")) row.hidden = ![...row.querySelectorAll("label")].some((label) => !label.hidden);
  }
}
