// Suggests stations while somebody types: by name, pinyin, short form or code. The field is a
// combobox, which screen readers know: the arrow keys move through the list, Enter takes a station,
// and Escape closes the list. Without this script the search page asks which station is meant.

import { announce, call, make, show, t } from "./core.js";

const PAUSE_MS = 150;

export class Stations {
  constructor(input, list) {
    this.input = input;
    this.list = list;
    this.found = [];
    this.at = -1;
    this.asked = 0;
    for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", list.id]]) input.setAttribute(name, value);
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", t("rail.suggestions"));
    input.addEventListener("input", () => this.typed());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => this.close());
    // Stops the field from losing the focus, which would close the list before the click.
    list.addEventListener("mousedown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const item = event.target.closest("li");
      if (item) this.take(Number(item.dataset.at));
    });
  }

  typed() {
    clearTimeout(this.timer);
    const words = this.input.value.trim();
    this.asked += 1;
    if (!words) return this.close();
    this.timer = setTimeout(() => this.ask(words, this.asked), PAUSE_MS);
  }

  async ask(words, asked) {
    const answer = await call("GET", `/v1/rail/stations?q=${encodeURIComponent(words)}`, { cache: "default" });
    // If the visitor has typed more, a newer request replaces this one.
    if (asked !== this.asked || !answer.ok || document.activeElement !== this.input) return;
    this.found = answer.body.slice(0, 8);
    this.at = -1;
    this.list.replaceChildren(...this.found.map((station, at) => this.item(station, at)));
    this.open(this.found.length > 0);
    announce(t("rail.suggested", { n: this.found.length }), true);
  }

  item({ name, pinyin, station }, at) {
    return make("li", { role: "option", id: `${this.list.id}-${at}`, "data-at": at, "aria-selected": "false" }, make("span", { text: name }), make("span", { class: "muted small", text: [pinyin, station].filter(Boolean).join(" · ") }));
  }

  key(event) {
    if (this.list.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.point((this.at + step + this.found.length + (this.at < 0 && step < 0 ? 1 : 0)) % this.found.length);
    else if (event.key === "Enter" && this.at >= 0) this.take(this.at);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }

  point(at) {
    this.at = at;
    for (const item of this.list.children) item.setAttribute("aria-selected", String(Number(item.dataset.at) === at));
    this.input.setAttribute("aria-activedescendant", `${this.list.id}-${at}`);
    this.list.children[at].scrollIntoView({ block: "nearest" });
  }

  take(at) {
    const { name, station } = this.found[at];
    this.input.value = `${name} (${station})`;
    this.asked += 1;
    this.close();
    announce(this.input.value, true);
  }

  open(any) {
    show(this.list, any);
    this.input.setAttribute("aria-expanded", String(any));
    this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    clearTimeout(this.timer);
    this.open(false);
  }
}
