// Small pictures of a seat, as pixels that are copied into the map's bitmaps. The shape shows the
// state: a free seat is a full disc, a seat in a basket a ring, a sold seat a cross, a seat that is
// not for sale a dot. Below six pixels, the shapes are drawn pixel by pixel.

import { BLOCKED, FREE, HELD, SOLD } from "./frames.js";

const SMALL_PX = 6;

/** The pixels that are filled, by state and size: rows from the top. */
const SMALL = {
  [FREE]: { 1: "1", 2: "11 11", 3: "111 111 111", 4: "1111 1111 1111 1111", 5: "01110 11111 11111 11111 01110" },
  [HELD]: { 1: "1", 2: "11 00", 3: "111 101 111", 4: "1111 1001 1001 1111", 5: "01110 10001 10001 10001 01110" },
  [SOLD]: { 1: "0", 2: "10 01", 3: "101 010 101", 4: "1001 0110 0110 1001", 5: "10001 01010 00100 01010 10001" },
  [BLOCKED]: { 1: "0", 2: "00 01", 3: "000 010 000", 4: "0000 0110 0110 0000", 5: "00000 00000 00110 00110 00000" },
};

/** Returns a colour's pixel: the bytes red, green, blue, alpha as one little-endian number. */
export function pixelOf(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** The pictures of seats at one size. Each is made when it is first needed. */
export class Sprites {
  /** `radius`: a seat's radius in pixels of the bitmap. `look`: the colours of `readLook`. */
  constructor(radius, look) {
    this.radius = radius;
    this.look = look;
    this.side = radius < SMALL_PX / 2 ? Math.max(1, Math.round(radius * 2)) : 2 * Math.ceil(radius + 1);
    this.made = [];
    this.numbers = new Map();
  }

  /**
   * Returns a picture of `side` × `side` pixels. Pixels of 0 are left as they are. All others
   * cover what was there, so that a seat can be painted again in another state.
   */
  of(state, category, accessible, faded, ground) {
    const key = (((ground * this.look.categories.length + category) * 2 + accessible) * 2 + faded) * 4 + state;
    return (this.made[key] ??= this.make(state, category, accessible, faded, ground));
  }

  make(state, category, accessible, faded, ground) {
    const { look } = this;
    const under = look.grounds[ground];
    const full = state === FREE ? look.categories[category] : [0, look.held, look.sold, look.blocked][state];
    const colour = faded ? look.fade(full, under) : full;
    if (this.side < SMALL_PX) return small(state, this.side, pixelOf(colour), pixelOf(under));
    return this.drawn((pen) => {
      pen.fillStyle = under;
      disc(pen, this.radius + 0.8);
      pen.fillStyle = pen.strokeStyle = colour;
      if (state === FREE) drawFree(pen, this.radius, accessible, faded ? look.fade(look.ink, under) : look.ink);
      else if (state === HELD) drawHeld(pen, this.radius);
      else if (state === SOLD) drawSold(pen, this.radius);
      else disc(pen, Math.max(1, this.radius * 0.36));
    });
  }

  /** Returns a picture of a seat's number, which is laid over the seat by its alpha. */
  number(text, colour) {
    const key = `${colour} ${text}`;
    if (!this.numbers.has(key)) {
      const size = this.radius * (text.length > 2 ? 0.68 : 0.9);
      this.numbers.set(key, this.drawn((pen) => {
        pen.font = `600 ${size.toFixed(1)}px system-ui, sans-serif`;
        pen.textAlign = "center";
        pen.textBaseline = "middle";
        pen.fillStyle = colour;
        pen.fillText(text, 0, this.radius * 0.06, this.radius * 1.8);
      }));
    }
    return this.numbers.get(key);
  }

  drawn(draw) {
    this.pen ??= makePen(this.side);
    const { pen, side } = this;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, side, side);
    pen.setTransform(1, 0, 0, 1, side / 2, side / 2);
    draw(pen);
    return new Uint32Array(pen.getImageData(0, 0, side, side).data.buffer);
  }
}

function makePen(side) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  return canvas.getContext("2d", { willReadFrequently: true });
}

function small(state, side, colour, under) {
  return Uint32Array.from(SMALL[state][side].replaceAll(" ", ""), (bit) => (bit === "1" ? colour : under));
}

function disc(pen, r) {
  pen.beginPath();
  pen.arc(0, 0, r, 0, 2 * Math.PI);
  pen.fill();
}

function drawFree(pen, r, accessible, ink) {
  disc(pen, accessible ? r * 0.62 : r);
  if (!accessible) return;
  pen.strokeStyle = ink;
  pen.lineWidth = Math.max(1, r * 0.18);
  const d = r * 0.84;
  pen.strokeRect(-d, -d, 2 * d, 2 * d);
}

function drawHeld(pen, r) {
  pen.lineWidth = Math.max(1, r * 0.26);
  pen.beginPath();
  pen.arc(0, 0, r * 0.8, 0, 2 * Math.PI);
  pen.stroke();
}

function drawSold(pen, r) {
  pen.lineWidth = Math.max(1, r * 0.28);
  const d = r * 0.58;
  pen.beginPath();
  pen.moveTo(-d, -d);
  pen.lineTo(d, d);
  pen.moveTo(d, -d);
  pen.lineTo(-d, d);
  pen.stroke();
}
