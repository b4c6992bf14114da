// A clock that runs down to a deadline set by the server. It uses the server's time, because this
// device's clock may be wrong.

import { announce, t } from "./core.js";

/** From how many minutes on screen readers announce each minute. */
const SAID_MINUTES_MAX = 10;

/** Formats seconds as minutes and seconds: `4:07`. */
function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

export class Countdown {
  /**
   * `over()` is called once, when the deadline has passed. `words(time)` returns the words to show
   * for the time that is left. `ticked(seconds)` is called at each step with the seconds that are
   * left. While the element is hidden, nothing is announced.
   */
  constructor(element, over, words = (time) => t("common.time_left", { time }), ticked = () => {}) {
    this.element = element;
    this.over = over;
    this.words = words;
    this.ticked = ticked;
  }

  start(expiresAt, skewMs) {
    this.stop();
    this.until = Date.parse(expiresAt) - skewMs;
    if (Number.isNaN(this.until)) return;
    this.said = Math.ceil((this.until - Date.now()) / 60_000);
    this.timer = setInterval(() => this.tick(), 500);
    this.tick();
  }

  stop() {
    clearInterval(this.timer);
    this.element.textContent = "";
  }

  tick() {
    const left = (this.until - Date.now()) / 1000;
    const words = left > 0 ? this.words(clock(left)) : t("common.time_over");
    if (this.element.textContent !== words) this.element.textContent = words;
    this.element.dataset.short = String(left < 60);
    this.ticked(left);
    const minutes = Math.ceil(left / 60);
    if (minutes < this.said && minutes > 0) {
      this.said = minutes;
      if (minutes <= SAID_MINUTES_MAX && this.element.getClientRects().length) announce(t("common.time_left_minutes", { n: minutes }));
    }
    if (left <= 0) {
      clearInterval(this.timer);
      this.over();
    }
  }
}
