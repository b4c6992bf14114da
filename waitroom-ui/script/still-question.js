// The question whether the visitor is still there, in front of the page.

import { make, span, t } from "./core.js";
import { Countdown } from "./countdown.js";

/**
 * What answers. A finger's answer is its click, which so does not press what is behind the
 * question. A finger that begins to scroll is cancelled.
 */
const ANSWERS = ["click", "keydown", "pointercancel", "scroll", "wheel"];

/**
 * Returns whether an act answers the question. A key is then only an answer: it must not press what
 * has the focus afterwards. A key that is pressed together with Ctrl is meant for the browser.
 */
export function isAnswer(event) {
  if (!ANSWERS.includes(event.type)) return false;
  if (event.type === "keydown" && !event.altKey && !event.ctrlKey && !event.metaKey) event.preventDefault();
  return true;
}

export class StillQuestion {
  /** `dismissed()` is called when the visitor closes the question by the browser's own means. */
  constructor(dismissed) {
    this.dismissed = dismissed;
    this.dialog = null;
    /** The page's title while the question is asked, and the one that it had before. */
    this.title = this.titleBefore = null;
  }

  get isAsked() {
    return this.dialog !== null;
  }

  /** Asks. If the question is asked already, changes the seconds that are left. */
  ask(seconds) {
    if (!this.isAsked) this.open(seconds);
    this.clock.start(new Date(Date.now() + 1000 * seconds).toISOString(), 0);
  }

  open(seconds) {
    this.before = document.activeElement;
    // The focus makes screen readers read the dialog. While another window or a part of the browser
    // has the focus, an alert does.
    const alert = document.hasFocus() ? {} : { role: "alert" };
    const clock = make("p", { class: "clock", role: "timer" });
    const button = make("button", { id: "still-yes", class: "button big go", type: "button", text: t("common.still.yes") });
    const named = { "aria-modal": "true", "aria-labelledby": "still-title", "aria-describedby": "still-why" };
    this.dialog = make("dialog", { id: "still", role: "alertdialog", ...named, oncancel: this.dismissed },
      make("h2", { id: "still-title", text: t("common.still.title") }),
      make("p", { id: "still-why", text: t("common.still.why", { time: span(seconds) }), ...alert }),
      clock,
      button,
    );
    this.clock = new Countdown(clock, () => {}, undefined, (left) => this.showTitle(left));
    document.body.append(this.dialog);
    this.dialog.showModal();
    button.focus({ preventScroll: true });
  }

  /** Shows the question in the page's title, where it is seen from another tab. */
  showTitle(left) {
    if (document.title !== this.title) this.titleBefore = document.title;
    document.title = this.title = t("common.still.page", { time: span(left) });
  }

  /** Takes the question away. The focus returns to where it was. */
  close() {
    if (!this.isAsked) return;
    this.clock.stop();
    this.dialog.close();
    this.dialog.remove();
    this.dialog = null;
    if (document.title === this.title) document.title = this.titleBefore;
    this.title = null;
    if (this.before?.isConnected) this.before.focus({ preventScroll: true });
  }
}
