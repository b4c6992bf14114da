// Keeps the page of a show true on every device that has the visitor's place: it finds a basket
// that another device or another tab has made, changed, given back or ordered.

import { announce, call, kept, t } from "./core.js";
import { basketNews, holdKept, isShared, readOwn, rememberHold } from "./holds.js";

/** How often a page that is seen asks what another device did. */
const LOOK_MS = 4_000;

export class SharedBasket {
  /**
   * `page`: {show, room, bar, isBusy()}. `bar` is the `HeldBar`. `isBusy` returns whether a call
   * runs that makes a basket. `found(hold)` is called with a basket that the page does not show.
   */
  constructor(page, found) {
    this.page = page;
    this.found = found;
    this.isLooking = false;
  }

  start() {
    const look = () => this.look();
    document.addEventListener("visibilitychange", look);
    addEventListener("focus", look);
    addEventListener("storage", ({ key }) => key === `fairgate.held.${this.page.show}` && this.foundInOtherTab());
    setInterval(look, LOOK_MS);
  }

  /** Asks what the visitor has of the show. Only a visitor with two devices causes this call. */
  async look() {
    const { show, room, bar } = this.page;
    if (this.isLooking || document.visibilityState !== "visible" || this.isBusy() || !isShared(room)) return;
    this.isLooking = true;
    const shown = bar.hold;
    const own = await readOwn(show, room);
    // Without a valid pass the server does not list baskets, but it still knows the shown one.
    const news = own ? basketNews(shown, own) : { ended: shown !== null };
    const end = news.ended ? await this.endOf(shown, news.order) : null;
    this.isLooking = false;
    // Meanwhile this page may have made a basket or given one back.
    if (bar.hold !== shown || this.isBusy()) return;
    if (end === "ended") bar.endedElsewhere();
    if (end === "ordered") bar.ordered();
    if (news.moved) bar.moveDeadline(news.moved);
    if (news.changed && !bar.change) this.takeChanged(news.changed);
    if (news.found && !bar.hold) this.found(rememberHold(show, room, news.found));
  }

  /**
   * Drops the chosen seats that are no longer free. If the other device took them for this visitor,
   * the page shows its basket instead of saying that somebody else took them.
   */
  async dropTaken(picker, changed) {
    if (isShared(this.page.room) && picker.takenAmong(changed).length) await this.look();
    picker.dropTaken(changed);
  }

  takeChanged(hold) {
    const { show, room, bar } = this.page;
    bar.take(rememberHold(show, room, hold));
    announce(t("seats.held_said", { n: hold.seats.length }), true);
  }

  isBusy() {
    return this.page.bar.isBusy || this.page.isBusy();
  }

  /**
   * Returns how a basket that is not among the visitor's has ended: "ended", "ordered" while its
   * order is not known, or null if it has not ended. It may be from a place that this browser had
   * before.
   */
  async endOf({ hold }, order) {
    if (order) kept.set(`ordered.${hold}`, order);
    if (order) return "ended";
    const answer = await call("GET", `/v1/holds/${encodeURIComponent(hold)}`);
    if (answer.body?.state === "ordered") return "ordered";
    return answer.status === 404 || answer.status === 410 ? "ended" : null;
  }

  foundInOtherTab() {
    const { show, bar } = this.page;
    const hold = holdKept(kept.get(`held.${show}`));
    if (hold && !bar.hold && !this.isBusy()) this.found(hold);
  }
}
