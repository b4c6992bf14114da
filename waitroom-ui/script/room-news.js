// What the room tells a page with seats: what the promoter says, that the room has closed, and that
// the promoter ended the visitor's place. The page has the parts of pages/room-news.html.

import { $, announce, show, showProblem } from "./core.js";

export class RoomNews {
  /**
   * `room` is the room's document, or null. `changed()` is called when `isOver` has changed. It
   * says whether nobody, or not this visitor, may begin a basket any more.
   */
  constructor(room, changed) {
    this.message = room?.message ?? "";
    this.isClosed = room?.phase === "closed";
    this.isRevoked = false;
    this.changed = changed;
  }

  get isOver() {
    return this.isClosed || this.isRevoked;
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
    if (reason !== "revoked" || this.isRevoked) return;
    this.isRevoked = true;
    this.changed();
    showProblem({ code: "revoked", status: 403 }, { note: note || "–" });
  }

  tellMessage(message) {
    if (message === this.message) return;
    this.message = message;
    show($("message"), message !== "");
    $("message").querySelector("span").textContent = message;
    if (message) announce($("message").textContent, true);
  }
}
