// Keeps the picture of a show's seats: a first snapshot by request, then the room's socket with its
// deltas; while there is no socket the snapshot is asked for again every few seconds. It says how
// fresh the picture is, always.

import { call } from "./core.js";
import { decode, Picture, seatState } from "./frames.js";
import { Live } from "./live.js";

const POLL_S = 4;

export class Feed {
  /**
   * `on`: `seats(states, changed)` (changed: seat indices or "all"), `freshness("live" | "polling"
   * | "offline")`, `hold(frame)`, `offer(frame)`.
   */
  constructor(show, room, seats, on) {
    this.show = show;
    this.seats = seats;
    this.on = on;
    this.picture = new Picture();
    this.shown = new Uint8Array(seats);
    this.live = new Live(room, {
      open: (send) => send({ type: "watch", show }),
      binary: (buffer) => this.take(buffer),
      frame: (frame) => on[frame.type]?.(frame),
      poll: () => this.ask(),
      status: (status) => on.freshness((this.status = status)),
    });
  }

  async start() {
    await this.ask();
    this.live.start();
  }

  /** Whether a snapshot came; the seconds until the next are asked for by the caller that polls. */
  async ask() {
    const answer = await call("GET", `/v1/shows/${encodeURIComponent(this.show)}/seats`, { accept: "application/octet-stream", binary: true });
    if (!answer.ok) return answer.problem.retry_after_s ?? 2 * POLL_S;
    const frame = this.read(answer.body);
    const older = frame && this.picture.version !== null && frame.version < this.picture.version && this.status === "live";
    if (frame && !older) this.apply(frame);
    return POLL_S;
  }

  take(buffer) {
    const frame = this.read(buffer);
    if (!frame || !this.apply(frame)) this.live.send({ type: "resync" });
  }

  read(buffer) {
    try {
      return decode(buffer);
    } catch {
      return null; // A broken frame shows nothing; a whole snapshot is asked for instead.
    }
  }

  /** False if the frame does not follow what is known. */
  apply(frame) {
    const changed = this.picture.take(frame);
    if (changed === "gap") return false;
    const { states } = this.picture;
    if (changed === "all") {
      for (let i = 0; i < this.seats; i++) this.shown[i] = seatState(states, i, this.seats);
      this.on.seats(this.shown, "all");
    } else if (changed.length) {
      const touched = [...new Set(changed.map((cell) => cell % this.seats))];
      for (const i of touched) this.shown[i] = seatState(states, i, this.seats);
      this.on.seats(this.shown, touched);
    }
    return true;
  }

  get version() {
    return this.picture.version;
  }
}
