// Keeps the visitor's pass while somebody does something on the page: tells the room so, shows the
// room's question whether the visitor is still there, and forgets a pass that has ended.

import { ACTS, isAct, noteOwnMoves } from "./acts.js";
import { call, kept, problemShown, showProblem, t } from "./core.js";
import { isAnswer, StillQuestion } from "./still-question.js";

/** The room is told at most so often. */
const TELL_MS = 20_000;
/** One tap or key makes several events. So long after the first of them, they are the same act. */
const SAME_ACT_MS = 1_000;
/** How soon an answer to the question that did not reach the room is sent again. */
const AGAIN_MS = 2_000;
/** The refusals after which there is nothing to keep: no pass, no place, or no such room. */
const NO_PASS = [401, 403, 404, 410];

/** Returns whether this browser knows of a pass of the room. */
export const knowsPass = (room) => Boolean(kept.get(`room.${room}`)?.pass_until);

/** Forgets the room's pass. Other tabs of this browser see this. */
export function forgetPass(room) {
  if (knowsPass(room)) kept.set(`room.${room}`, { ...kept.get(`room.${room}`), pass_until: undefined });
}

/** Says that the pass has ended early, why, and where the visitor waits for the next turn. */
export function tellPassEnded(room, cause) {
  if (problemShown() === "pass_ended") return;
  showProblem({ code: "pass_ended", status: 401, cause }, {}, [{ label: t("common.to_lobby"), href: `/r/${encodeURIComponent(room)}` }]);
}

export class StillHere {
  /**
   * A page has one of these, which listens for as long as the page is open. `room` is the room's
   * id. `ended(cause, isActing)` is called when the pass has ended early. `isActing`: somebody is
   * using the page at this moment.
   */
  constructor(room, ended) {
    this.room = room;
    this.ended = ended;
    this.path = `/v1/rooms/${encodeURIComponent(room)}/place/here`;
    this.toldAt = -Infinity;
    /** Runs while somebody has done something that the room does not know yet. */
    this.timer = 0;
    /** Whether the room has asked: then there is a pass, even if this browser stores nothing. */
    this.hasAsked = false;
    this.question = new StillQuestion(() => this.answer());
    noteOwnMoves();
    for (const name of ACTS) addEventListener(name, (event) => this.take(event), { capture: true, passive: name !== "keydown" });
  }

  take(event) {
    const { isAsked } = this.question;
    if (!isAsked && (this.timer || !(this.hasAsked || knowsPass(this.room)))) return;
    if (!isAct(event)) return;
    if (isAsked) return isAnswer(event) && this.answer();
    const told_ms = performance.now() - this.toldAt;
    if (told_ms >= SAME_ACT_MS) this.tellIn(Math.max(0, TELL_MS - told_ms), TELL_MS);
  }

  answer() {
    this.question.close();
    this.tell(AGAIN_MS);
  }

  tellIn(wait_ms, again_ms) {
    this.timer ||= setTimeout(() => this.tell(again_ms), wait_ms);
  }

  /** Tells the room. If it does not hear this, tells it again after `again_ms`, and later. */
  async tell(again_ms) {
    clearTimeout(this.timer);
    this.timer = 0;
    this.toldAt = performance.now();
    const { ok, problem } = await call("POST", this.path);
    if (ok) return;
    const { status, code, cause } = problem;
    if (!NO_PASS.includes(status)) return again_ms <= TELL_MS ? this.tellIn(again_ms, 2 * again_ms) : undefined;
    // The page's clock tells the end of a pass at its time.
    if (code === "pass_ended" && cause !== "expired") this.end(cause, true);
    else this.forget();
  }

  /** Takes a frame of the live socket. Frames about other things are ignored. */
  heard({ type, ends_at, ends_in_s, cause }) {
    if (type === "pass_ended") this.end(cause, false);
    if (type !== "idle") return;
    this.hasAsked = true;
    if (!ends_at) this.question.close();
    else if (this.timer) this.answer();
    else this.question.ask(ends_in_s);
  }

  end(cause, isActing) {
    this.forget();
    this.ended(cause, isActing);
  }

  forget() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.hasAsked = false;
    this.question.close();
    forgetPass(this.room);
  }
}
