// What the room tells a page with seats: what the promoter says, that the room has closed, and that
// the visitor's place has ended. The page has the parts of pages/room-news.html.

import { $, announce, call, kept, show, showProblem, t } from "./core.js";

export class RoomNews {
  /**
   * `room` is the room's document, or null. `changed()` is called when `isOver` has changed. It
   * says whether nobody, or not this visitor, may begin a basket any more.
   */
  constructor(room, changed) {
    this.id = room?.room;
    this.message = room?.message ?? "";
    this.isClosed = room?.phase === "closed";
    this.hasPlaceEnded = false;
    this.changed = changed;
  }

  get isOver() {
    return this.isClosed || this.hasPlaceEnded;
  }

  /** Takes the room's newest document, from a `room` frame or from `GET /v1/rooms/{room}`. */
  room({ phase, message = "" }) {
    this.tellMessage(message);
    const isClosed = phase === "closed";
    if (isClosed === this.isClosed) return;
    this.isClosed = isClosed;
    show($("room-closed"), isClosed);
    this.changed();
    if (!isClosed) return;
    $("room-closed").scrollIntoView({ block: "nearest" });
    announce($("room-closed").textContent, true);
  }

  /** Takes a `closed` frame. A `room` frame has told the other reasons before. */
  closed({ reason, note }) {
    if (reason !== "revoked" || this.hasPlaceEnded) return;
    this.hasPlaceEnded = true;
    this.changed();
    showProblem({ code: "revoked", status: 403 }, { note: note || "–" });
  }

  /**
   * Asks whether the visitor still has the place, which another tab or device may have given up.
   * `isSocketEnded`: the server ended the place's socket for good. Otherwise only a browser that
   * has had a place asks.
   */
  async lookAtPlace(isSocketEnded = false) {
    const { joined, arrived } = kept.get(`room.${this.id}`) ?? {};
    if (this.hasPlaceEnded || !this.id || !(joined || arrived || isSocketEnded)) return;
    const { problem } = await call("GET", `/v1/rooms/${encodeURIComponent(this.id)}/place`);
    // If another tab gave the place up, this browser has no cookie of the place any more.
    const isLeft = problem?.code === "place_left" || (isSocketEnded && problem?.code === "place_required");
    if (!isLeft || this.hasPlaceEnded) return;
    this.hasPlaceEnded = true;
    this.changed();
    showProblem({ code: "pass_stopped", status: 410 }, {}, [{ label: t("common.to_lobby"), href: `/r/${encodeURIComponent(this.id)}` }]);
  }

  tellMessage(message) {
    if (message === this.message) return;
    this.message = message;
    show($("message"), message !== "");
    $("message").querySelector("span").textContent = message;
    if (message) announce($("message").textContent, true);
  }
}
