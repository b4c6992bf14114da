// Updates the picture of a show's seats: first a snapshot, then the deltas of the room's socket.
// While there is no socket, it fetches a snapshot every few seconds, and the room less often. It
// reports how fresh the picture is.

import { call } from "./core.js";
import { decode, Picture, seatState } from "./frames.js";
import { Live } from "./live.js";

const POLL_S = 4;
/** The code with which the server closes the socket of a place that has ended. */
const PLACE_ENDED = 1000;
/** How often the room is fetched while there is no socket. */
const ROOM_MS = 12_000;

/** Fetches a snapshot of a show's seats. The page requests the first one before it has the plan. */
export const snapshotOf = (show) => call("GET", `/v1/shows/${encodeURIComponent(show)}/seats`, { accept: "application/octet-stream", binary: true });

export class Feed {
  /**
   * `on`: `seats(states, changed)` (changed: seat indices or "all"), `freshness("live" | "polling"
   * | "offline")`, `line(frame)`, `hold(frame)`, `offer(frame)`, `closed(frame)`, `idle(frame)`,
   * `pass_ended(frame)`, `room(room)`, which gets the room's document from a frame or from an
   * answer, and `place(isSocketEnded)`, when the visitor's place may have ended. `legs`: `[first,
   * end]`, the legs of a train that the states are for. Without it, the states are for all legs.
   */
  constructor(show, room, seats, on, legs) {
    this.show = show;
    this.seats = seats;
    this.legs = legs;
    this.on = on;
    this.room = room;
    this.roomAskedAt = -ROOM_MS;
    this.picture = new Picture();
    this.shown = new Uint8Array(seats);
    this.live = new Live(room, {
      open: (send) => {
        send({ type: "watch", show });
        this.live.socket.addEventListener("close", ({ code }) => code === PLACE_ENDED && on.place(true));
      },
      binary: (buffer) => this.take(buffer),
      frame: (frame) => on[frame.type]?.(frame),
      poll: () => this.poll(),
      status: (status) => on.freshness((this.status = status)),
    });
  }

  /** Starts with a snapshot that `snapshotOf` has requested before. */
  async start(first) {
    await this.ask(first);
    this.live.start();
  }

  poll() {
    if (performance.now() - this.roomAskedAt >= ROOM_MS) this.askRoom();
    return this.ask();
  }

  async askRoom() {
    this.roomAskedAt = performance.now();
    this.on.place(false);
    const answer = await call("GET", `/v1/rooms/${encodeURIComponent(this.room)}`, { cache: "default" });
    if (answer.ok) this.on.room(answer.body);
  }

  /**
   * Fetches a snapshot and shows it, unless the socket has a newer picture. Returns the seconds
   * until the next poll.
   */
  async ask(first) {
    const answer = await (first ?? snapshotOf(this.show));
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
      return null; // A broken frame is not shown. If it came from the socket, `take` requests a snapshot.
    }
  }

  /** Returns false if the frame does not follow the known version. */
  apply(frame) {
    const changed = this.picture.take(frame);
    if (changed === "gap") return false;
    const { states } = this.picture;
    if (changed === "all") {
      if (states.length === this.seats) this.shown.set(states);
      else for (let i = 0; i < this.seats; i++) this.shown[i] = seatState(states, i, this.seats, this.legs);
      this.on.seats(this.shown, "all");
    } else if (changed.length) {
      const touched = states.length === this.seats ? changed : [...new Set(changed.map((cell) => cell % this.seats))];
      for (const i of touched) this.shown[i] = seatState(states, i, this.seats, this.legs);
      this.on.seats(this.shown, touched);
    }
    return true;
  }

  get version() {
    return this.picture.version;
  }
}
