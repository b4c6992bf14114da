// The words beside the seat that the mouse or the keyboard is on.

import { $, announce, show } from "./core.js";

export class SeatTip {
  /** `words(index)` returns the words for a seat. */
  constructor(words) {
    this.words = words;
    this.index = -1;
  }

  /**
   * Shows the words at a point of the map. `index` −1: no seat. The words of a seat that a key
   * reached are also spoken.
   */
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

  /** Writes the words again, because the seat's state may have changed. */
  renew() {
    if (this.index >= 0) $("map-tip").textContent = this.words(this.index);
  }
}
