// Reads the binary form of a seat map, which wire/seatmap.md describes. This is pure code that
// needs no page. A map is refused as a whole if it is too short or too long, or names something
// that it does not have. A guess could show a seat at another seat's place.

const HEAD_BYTES = 16;
const VERSION = 1;

/**
 * Decodes an ArrayBuffer or Uint8Array to `{count, x, y, flags, name, focal, categories, sections,
 * zones, areas, rows, runs, stage, outlines}`. `x` and `y` are the seats' positions. `stage` is
 * null and `outlines` is empty if the plan has none.
 */
export function decodeSeatMap(buffer) {
  const bytes = buffer instanceof Uint8Array ? buffer : new Uint8Array(buffer);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEAD_BYTES) throw new Error("the seat map is cut short");
  if (String.fromCharCode(...bytes.subarray(0, 4)) !== "FGSM") throw new Error("not a seat map");
  if (bytes[4] !== VERSION) throw new Error(`a seat map of version ${bytes[4]}`);
  const [count, length] = [view.getUint32(8, true), view.getUint32(12, true)];
  const end = HEAD_BYTES + length + (length % 2);
  if (bytes.length !== end + 5 * count) throw new Error("a seat map of the wrong length");
  const text = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(HEAD_BYTES, HEAD_BYTES + length)));
  check(text, count);
  return {
    ...text,
    count,
    x: positions(bytes.subarray(end), count, text.origin.x, text.step),
    y: positions(bytes.subarray(end + 2 * count), count, text.origin.y, text.step),
    flags: bytes.slice(end + 4 * count),
    stage: text.stage ?? null,
    outlines: text.outlines ?? [],
  };
}

function positions(bytes, count, origin, step) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new Float32Array(count);
  let sum = 0;
  for (let i = 0; i < count; i++) {
    sum += view.getInt16(2 * i, true);
    values[i] = origin + step * sum;
  }
  return values;
}

/** Throws if the text's lists do not fit each other or the number of seats. */
function check({ categories, sections, rows, runs, areas, outlines }, count) {
  const within = (index, list) => index === undefined || (Number.isInteger(index) && index >= 0 && index < list.length);
  let seats = 0;
  for (const run of runs) {
    const isKnown = within(run.category, categories) && within(run.section, sections) && within(run.row, rows);
    const isNumbered = Number.isInteger(run.from) || run.numbers?.length === run.n;
    if (!isKnown || !isNumbered || !(run.n > 0)) throw new Error("a run of seats that does not fit its seat map");
    seats += run.n;
  }
  if (seats !== count) throw new Error("runs that do not cover the seats");
  for (const area of areas) if (!(area.first + area.capacity <= count)) throw new Error("an area that ends after the last seat");
  for (const outline of outlines ?? []) if (!within(outline.section, sections)) throw new Error("an outline of an unknown section");
}
