// The words beside the seat that the mouse or the keyboard is on.

import { $, announce, show } from "./core.js";

export class SeatTip {
  /** `words(index)` returns what to tell of a seat. */
  constructor(words) {
    this.words = words;
    this.index = -1;
  }

  /** Shows the words at a point of the map. `index` −1: no seat. A key's seat is also spoken. */
  point(index, x, y, byKey) {
    const at = $("map-tip");
    this.index = index;
    show(at, index >= 0);
    if (index < 0) return;
    at.textContent = this.words(index);
    const frame = $("map-frame");
    at.style.left = `${Math.max(6, Math.min(x + 12, frame.clientWidth - at.offsetWidth - 6))}px`;
    at.style.top = `${Math.max(6, y > at.offsetHeight + 24 ? y - at.offsetHeight - 12 : y + 18)}px`;
    if (byKey) announce(at.textContent, true);
  }

  /** The seat's state may have changed. */
  renew() {
    if (this.index >= 0) $("map-tip").textContent = this.words(this.index);
  }
}
