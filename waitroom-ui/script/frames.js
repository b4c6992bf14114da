// The binary frames with the states of seats. A frame of kind 0x01 is a snapshot. A frame of kind
// 0x02 is a delta: the changes since a version. This is pure code that needs no page. Tests compare
// this code and the server with the bytes in wire/frames.json. A frame that is too short, too long
// or has an index out of range is refused as a whole, because a guess could show a taken seat as
// free.

export const FREE = 0;
export const HELD = 1;
export const SOLD = 2;
export const BLOCKED = 3;
export const STATE_NAMES = ["free", "held", "sold", "blocked"];

/**
 * Decodes an ArrayBuffer or Uint8Array to `{kind:"snapshot", version, states}` or `{kind:"delta",
 * from, to, changes}`.
 */
export function decode(buffer) {
  const bytes = buffer instanceof Uint8Array ? buffer : new Uint8Array(buffer);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length === 0) throw new Error("an empty frame");
  if (bytes[0] === 1) return snapshot(bytes, view);
  if (bytes[0] === 2) return delta(bytes, view);
  throw new Error(`a frame of unknown kind ${bytes[0]}`);
}

function snapshot(bytes, view) {
  if (bytes.length < 13) throw new Error("the snapshot is cut short");
  const version = view.getBigUint64(1, true);
  const cells = view.getUint32(9, true);
  if (bytes.length !== 13 + Math.ceil(cells / 4)) throw new Error("a snapshot of the wrong length");
  const states = new Uint8Array(cells);
  for (let i = 0; i < cells; i++) states[i] = (bytes[13 + (i >> 2)] >> (2 * (i & 3))) & 3;
  return { kind: "snapshot", version, states };
}

function delta(bytes, view) {
  if (bytes.length < 17) throw new Error("the delta is cut short");
  const changes = [];
  let [at, previous, first] = [17, 0, true];
  while (at < bytes.length) {
    let [value, factor] = [0, 1];
    for (;;) {
      if (at >= bytes.length) throw new Error("the delta is cut short");
      const byte = bytes[at++];
      // Multiplied, not shifted, because an index of 32 bits and its state need 34 bits.
      value += (byte & 0x7f) * factor;
      factor *= 128;
      if (byte < 0x80) break;
      if (factor > 2 ** 35) throw new Error("a number too long");
    }
    const step = Math.floor(value / 4);
    if (!first && step === 0) throw new Error("indices that do not ascend");
    previous += step;
    if (previous > 0xffffffff) throw new Error("an index out of range");
    first = false;
    changes.push([previous, value % 4]);
  }
  return { kind: "delta", from: view.getBigUint64(1, true), to: view.getBigUint64(9, true), changes };
}

/** The states of a show's cells at one version. Frames update it. */
export class Picture {
  constructor() {
    this.version = null;
    this.states = new Uint8Array(0);
  }

  /**
   * Applies a decoded frame. Returns the changed indices, or `"all"` after a snapshot. A delta that
   * was applied before changes nothing. If a delta does not follow this version or has an index out
   * of range, applies nothing and returns `"gap"`. Then a new snapshot is needed.
   */
  take(frame) {
    if (frame.kind === "snapshot") {
      this.version = frame.version;
      this.states = frame.states;
      return "all";
    }
    if (this.version !== null && frame.to <= this.version) return [];
    if (this.version === null || frame.from !== this.version) return "gap";
    if (frame.changes.some(([index]) => index >= this.states.length)) return "gap";
    for (const [index, state] of frame.changes) this.states[index] = state;
    this.version = frame.to;
    return frame.changes.map(([index]) => index);
  }
}

/**
 * Returns the state to show for a seat: the worst state of its legs, or only of the legs from
 * `first` to before `end`. Cells are ordered by leg: the cell of a seat is `leg × seats + seat`.
 */
export function seatState(states, seat, seats, [first, end] = [0, Infinity]) {
  let worst = FREE;
  const last = Math.min(states.length, end * seats);
  for (let cell = first * seats + seat; cell < last; cell += seats) worst = Math.max(worst, states[cell]);
  return worst;
}
