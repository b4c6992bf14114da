// The live socket of a room. While there is no socket, the page polls at the interval that the
// server asks for. The socket reconnects by itself. The waits between its tries are random and
// grow. When the device is online again, it tries at once. When the server restarts, it waits as
// long as the server asks.

// A frame comes at least once a minute. A socket that was silent for this long is replaced.
const QUIET_TOO_LONG_MS = 150_000;
const WAIT_MIN_MS = 1_000;
const WAIT_MAX_MS = 30_000;

/**
 * Returns the wait in ms before the next try. `failures` is the number of failed tries before the
 * one that has just failed. `random`, from 0 to 1, spreads the waits, so that not all browsers
 * reconnect at the same moment.
 */
export function backoffMs(failures, random) {
  return Math.min(WAIT_MAX_MS, WAIT_MIN_MS * 2 ** Math.min(failures, 5)) * (0.5 + random);
}

/** Returns the wait in ms that a close code asks for, or null for the usual wait. */
export function closeWaitMs(code, reason, random) {
  if (code === 1012) {
    let asked;
    try {
      asked = JSON.parse(reason).retry_ms;
    } catch {
      asked = undefined;
    }
    return Number.isFinite(asked) && asked >= 0 ? Math.min(asked, 120_000) : 1_000 + 4_000 * random;
  }
  if (code === 1013) return 5_000 + 10_000 * random;
  if (code === 1008) return 60_000 + 30_000 * random;
  return null;
}

export class Live {
  /**
   * `handlers`: `frame(object)`, `binary(ArrayBuffer)`, `open(send)`, `poll()` (returns the seconds
   * until the next poll), `status("live" | "polling" | "offline")`. Each may be left out.
   */
  constructor(room, handlers) {
    this.url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/rooms/${encodeURIComponent(room)}/live`;
    this.handlers = handlers;
    this.failures = 0;
    this.stopped = true;
    this.heardAt = 0;
    this.wake = () => document.visibilityState === "visible" && this.rouse();
    this.online = () => this.rouse(true);
    this.offline = () => this.tell("offline");
  }

  start() {
    if (!this.stopped) return;
    this.stopped = false;
    document.addEventListener("visibilitychange", this.wake);
    addEventListener("online", this.online);
    addEventListener("offline", this.offline);
    addEventListener("pageshow", this.wake);
    this.watchdog = setInterval(() => this.rouse(), 30_000);
    this.open();
  }

  stop() {
    this.stopped = true;
    document.removeEventListener("visibilitychange", this.wake);
    removeEventListener("online", this.online);
    removeEventListener("offline", this.offline);
    removeEventListener("pageshow", this.wake);
    for (const timer of [this.retry, this.polling]) clearTimeout(timer);
    clearInterval(this.watchdog);
    this.polling = 0;
    this.drop();
  }

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /**
   * Replaces a socket that has been silent for too long. If there is no socket, opens one when the
   * wait before the next try is over, or at once with `now`.
   */
  rouse(now = false) {
    if (this.stopped) return;
    const dead = this.socket && performance.now() - this.heardAt > QUIET_TOO_LONG_MS;
    if (dead) this.drop();
    if (!this.socket && (now || dead || this.heldUntil === undefined || performance.now() >= this.heldUntil)) this.open();
  }

  drop() {
    const socket = this.socket;
    this.socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  open() {
    clearTimeout(this.retry);
    this.drop();
    let socket;
    try {
      socket = new WebSocket(this.url, "fairgate.v1");
    } catch {
      return this.again(null);
    }
    this.socket = socket;
    this.heardAt = performance.now();
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.heardAt = performance.now();
      clearTimeout(this.polling);
      this.polling = 0;
      this.tell("live");
      this.handlers.open?.((message) => this.send(message));
    };
    socket.onmessage = (message) => {
      this.heardAt = performance.now();
      // The browser may have said that it is offline, but the socket works.
      this.tell("live");
      this.failures = 0;
      this.heldUntil = undefined;
      if (message.data instanceof ArrayBuffer) return this.handlers.binary?.(message.data);
      let frame;
      try {
        frame = JSON.parse(message.data);
      } catch {
        return; // Not JSON, so not a frame of this server.
      }
      this.handlers.frame?.(frame);
    };
    socket.onclose = (event) => {
      this.socket = null;
      this.again(closeWaitMs(event.code, event.reason, Math.random()));
    };
  }

  again(asked) {
    if (this.stopped) return;
    this.tell(navigator.onLine === false ? "offline" : "polling");
    if (!this.polling) this.pollSoon(1 + 2 * Math.random());
    const wait = asked ?? backoffMs(this.failures, Math.random());
    this.failures += 1;
    this.heldUntil = performance.now() + wait;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.open(), wait);
  }

  pollSoon(seconds) {
    if (!this.handlers.poll) return;
    this.polling = setTimeout(async () => {
      if (this.stopped || this.socket?.readyState === WebSocket.OPEN) return void (this.polling = 0);
      const next = (await this.handlers.poll()) ?? 10;
      if (this.polling) this.pollSoon(Math.min(120, Math.max(1, next)) * (0.9 + 0.2 * Math.random()));
    }, seconds * 1000);
  }

  tell(status) {
    if (this.status !== status) this.handlers.status?.((this.status = status));
  }
}
