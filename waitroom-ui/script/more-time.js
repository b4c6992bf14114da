// The button "More time" for a hold, on the pages of seats and in the checkout.

import { announce, show, showProblem, t } from "./core.js";
import { Intent } from "./holds.js";

/**
 * "More time" counts from the moment when it is pressed. So it is offered only in the last seconds,
 * when it adds nearly all of its time.
 */
const MORE_TIME_S = 120;

export class MoreTime {
  /**
   * `hold()` returns the hold, or null. `on`: `extended(answer)` is called with the hold that has
   * more time, `refused(problem)`, and `busy(isBusy)` when the call begins and ends.
   */
  constructor(button, hold, on) {
    this.button = button;
    this.hold = hold;
    this.on = on;
    this.intent = new Intent();
    button.addEventListener("click", () => this.extend());
  }

  /**
   * Gives the button its space if the hold can have more time. After the last extension the space
   * stays empty. Otherwise another button would move under a finger that presses twice.
   */
  render() {
    const { hold, extensions_left } = this.hold();
    if (extensions_left !== 0) this.spaceFor = hold;
    show(this.button, this.spaceFor === hold);
  }

  /** Offers more time shortly before the deadline. The button has its space from the beginning. */
  offer(left) {
    const wasOffered = this.button.dataset.offered === "true";
    const hold = this.hold();
    const isOffered = left <= MORE_TIME_S && hold !== null && hold.extensions_left !== 0;
    this.button.dataset.offered = String(isOffered);
    if (isOffered && !wasOffered) announce(t("common.extend_said"), true);
  }

  async extend() {
    const path = `/v1/holds/${encodeURIComponent(this.hold().hold)}/extend`;
    this.setBusy(true);
    const answer = await this.intent.send("POST", path, {});
    this.setBusy(false);
    if (!answer.ok) return this.on.refused(answer.problem);
    showProblem(null);
    this.on.extended(answer.body);
    announce(t("common.extended"), true);
  }

  setBusy(isBusy) {
    this.button.disabled = isBusy;
    this.on.busy?.(isBusy);
  }
}
