// A bitmap of a part of the plan at one scale. It paints the ground first (outlines and stage), and
// then the seats. It looks at the clock after every hundred seats, so that no frame takes too long.
// Later, single seats are painted again when their state changes.

import { FREE } from "./frames.js";
import { gridOf, seatOf, stretchesIn } from "./geometry.js";
import { inkOn } from "./seatmap-colours.js";
import { contains, crosses } from "./seatmap-outlines.js";
import { pixelOf } from "./seatmap-sprites.js";

const SEATS_AT_ONCE = 100; // Between two looks at the clock.
const VENUE_PX = 16; // How far the ground of several sections reaches around them, in CSS pixels.
const NUMBER_PX = 9.5; // From this radius on, in CSS pixels, seats show their numbers.

export class Bitmap {
  /**
   * `scene`: {g, look, states, ratio, faded}. `sprites`: the pictures of seats at this scale.
   * `scale`: the factor from the plan to pixels. `x`, `y`: the bitmap's corner in pixels from the
   * plan's corner.
   */
  constructor(scene, sprites, scale, x, y, width, height) {
    Object.assign(this, { scene, sprites, scale, x, y, width, height });
    this.pen = makePen(width, height);
    this.canvas = this.pen.canvas;
    this.done = false;
    this.begin();
  }

  /** Starts again from the ground. Until it is done, the canvas keeps its picture. */
  begin() {
    this.stale = true;
    this.image = null;
  }

  /** Paints until the time `end_ms` of the page's clock. Returns whether the bitmap is done. */
  work(end_ms) {
    if (!this.stale) return true;
    if (!this.image) this.prepare();
    const order = this.isAll ? null : gridOf(this.scene.g).order;
    while (this.next < this.stretches.length) {
      const [start, end] = this.stretches[this.next];
      const to = Math.min(end, Math.max(start, this.at) + SEATS_AT_ONCE);
      for (let k = Math.max(start, this.at); k < to; k++) this.blit(order ? order[k] : k);
      this.at = to < end ? to : 0;
      if (to === end) this.next += 1;
      if (performance.now() >= end_ms && this.next < this.stretches.length) return false;
    }
    this.pen.putImageData(this.image, 0, 0);
    this.stale = false;
    return (this.done = true);
  }

  prepare() {
    const { scene, scale } = this;
    const { bounds } = scene.g;
    this.far = scene.look.isFar(scale / scene.ratio);
    const flat = this.flatGround();
    if (flat) this.image = new ImageData(this.width, this.height);
    else {
      const ground = this.done ? makePen(this.width, this.height) : this.pen;
      paintGround(ground, scene, scale, this.x, this.y, this.width, this.height);
      this.image = ground.getImageData(0, 0, this.width, this.height);
    }
    this.pixels = new Uint32Array(this.image.data.buffer);
    if (flat) this.pixels.fill(pixelOf(flat));
    const edge = this.sprites.side / 2 + 1;
    const [left, right] = [this.x - edge, this.x + this.width + edge].map((at) => at / scale + bounds.left);
    const [top, bottom] = [this.y - edge, this.y + this.height + edge].map((at) => at / scale + bounds.top);
    // A bitmap of the whole plan paints all seats in the plan's order, without a grid to find them.
    this.isAll = left <= bounds.left && top <= bounds.top && right >= bounds.right && bottom >= bounds.bottom;
    this.stretches = this.isAll ? [[0, scene.g.count]] : stretchesIn(scene.g, left, top, right, bottom);
    this.next = this.at = 0;
    this.numbered = this.sprites.radius / scene.ratio >= NUMBER_PX;
  }

  /** Returns the colour of the ground if it is the same everywhere in the bitmap, else null. */
  flatGround() {
    const { g, look, ratio } = this.scene;
    if (g.under.length || g.over.length) return null;
    const edge = ((VENUE_PX + 2) * ratio) / this.scale;
    const left = this.x / this.scale + g.bounds.left - edge;
    const top = this.y / this.scale + g.bounds.top - edge;
    const box = { left, top, right: left + this.width / this.scale + 2 * edge, bottom: top + this.height / this.scale + 2 * edge };
    if (g.stage ? crosses(g.stage.points, box, 0) || contains(g.stage.points, box.left, box.top) : g.focal && crosses([[g.focal.x, g.focal.y]], box, 0)) return null;
    if (crosses(g.venue, box, 0)) return null;
    let colour = contains(g.venue, box.left, box.top) ? look.venue : look.paper;
    for (const { section, points, pad } of g.outlines) {
      if (crosses(points, box, pad)) return null;
      if (contains(points, box.left, box.top)) colour = look.grounds[this.far ? g.sections[section].category + 1 : 0];
    }
    return colour;
  }

  /** Paints seats again. Seats outside the bitmap are left out. */
  repaint(seats) {
    if (!this.image) return;
    let [top, bottom] = [this.height, 0];
    for (const i of seats) {
      const y = this.blit(i);
      if (y === undefined) continue;
      top = Math.min(top, y);
      bottom = Math.max(bottom, y + this.sprites.side);
    }
    if (bottom <= top || this.stale) return;
    top = Math.max(0, top);
    this.pen.putImageData(this.image, 0, 0, 0, top, this.width, Math.min(this.height, bottom) - top);
  }

  /** Paints a seat into the pixels. Returns its top row, or undefined if it is outside. */
  blit(i) {
    const { scene, sprites, width, height } = this;
    const { g } = scene;
    const { side } = sprites;
    const x0 = Math.round((g.x[i] - g.bounds.left) * this.scale - this.x - side / 2);
    const y0 = Math.round((g.y[i] - g.bounds.top) * this.scale - this.y - side / 2);
    if (x0 <= -side || y0 <= -side || x0 >= width || y0 >= height || g.inArea[i] === 1) return undefined;
    const ground = this.far ? g.sections[g.sectionOf[i]].category + 1 : 0;
    const accessible = g.flags[i] & 1;
    const picture = sprites.of(scene.states[i], g.category[i], accessible, scene.faded[i], ground);
    if (side === 1) this.pixels[y0 * width + x0] = picture[0];
    else this.lay(picture, x0, y0);
    if (this.numbered && scene.states[i] === FREE && !accessible) this.label(i, x0, y0, ground);
    return y0;
  }

  label(i, x0, y0, ground) {
    const { g, look, faded } = this.scene;
    const full = look.categories[g.category[i]];
    const { number } = seatOf(g, i);
    if (number) this.lay(this.sprites.number(number, inkOn(faded[i] ? look.fade(full, look.grounds[ground]) : full)), x0, y0);
  }

  /** Lays a picture over the pixels, by its alpha. */
  lay(picture, x0, y0) {
    const { pixels, width } = this;
    const { side } = this.sprites;
    const left = Math.max(0, -x0);
    const right = Math.min(side, width - x0);
    const last = Math.min(side, this.height - y0);
    for (let y = Math.max(0, -y0); y < last; y++) {
      const row = (y0 + y) * width + x0;
      for (let x = left; x < right; x++) {
        const pixel = picture[y * side + x];
        if (pixel >>> 24 === 255) pixels[row + x] = pixel;
        else if (pixel !== 0) pixels[row + x] = over(pixel, pixels[row + x]);
      }
    }
  }
}

/** Returns a pixel laid over an opaque one by its alpha. */
function over(pixel, under) {
  const alpha = pixel >>> 24;
  const rest = 255 - alpha;
  const red = ((pixel & 255) * alpha + (under & 255) * rest) / 255;
  const green = (((pixel >>> 8) & 255) * alpha + ((under >>> 8) & 255) * rest) / 255;
  const blue = (((pixel >>> 16) & 255) * alpha + ((under >>> 16) & 255) * rest) / 255;
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/**
 * Pens of bitmaps that are no longer needed, by size. They are reused, because making a canvas is
 * slow.
 */
const spare = new Map();
const SPARE_MAX = 200;

/** Gives the canvas of a bitmap that is no longer shown to the next one of the same size. */
export function recycle(bitmap) {
  const key = `${bitmap.width} ${bitmap.height}`;
  if (!spare.has(key)) spare.set(key, []);
  if (spare.get(key).length < SPARE_MAX) spare.get(key).push(bitmap.pen);
}

function makePen(width, height) {
  const pen = spare.get(`${width} ${height}`)?.pop();
  if (pen) return pen;
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  return canvas.getContext("2d", { alpha: false, willReadFrequently: true });
}

function paintGround(pen, { g, look, ratio }, scale, x, y, width, height) {
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = look.paper;
  pen.fillRect(0, 0, width, height);
  const pixelAt = ([px, py]) => [(px - g.bounds.left) * scale - x, (py - g.bounds.top) * scale - y];
  const path = (points) => {
    pen.beginPath();
    for (const point of points) pen.lineTo(...pixelAt(point));
    pen.closePath();
  };
  const paint = ({ points, fill, stroke }) => {
    path(points);
    pen.fillStyle = look[fill];
    pen.fill();
    if (!stroke) return;
    pen.strokeStyle = look[stroke];
    pen.lineWidth = 2.5 * ratio;
    pen.stroke();
  };
  pen.lineJoin = pen.lineCap = "round";
  for (const shape of g.under) paint(shape);
  path(g.venue);
  pen.fillStyle = pen.strokeStyle = look.venue;
  pen.lineWidth = 2 * VENUE_PX * ratio;
  pen.fill();
  pen.stroke();
  for (const { section, points, pad } of g.outlines) {
    const ground = look.grounds[look.isFar(scale / ratio) ? g.sections[section].category + 1 : 0];
    // The least width makes a small section visible on the picture of a large venue.
    const wide = Math.max(2 * pad * scale, Math.min(12, 3 / (g.spacing * scale)) * ratio);
    path(points);
    pen.strokeStyle = look.line;
    pen.lineWidth = wide + 2.5 * ratio;
    pen.stroke();
    pen.fillStyle = pen.strokeStyle = ground;
    pen.lineWidth = Math.max(0.5, wide);
    pen.fill();
    pen.stroke();
  }
  for (const shape of g.over) paint(shape);
  if (g.stage) paint({ points: g.stage.points, fill: "stage" });
  else if (g.focal) {
    const [fx, fy] = pixelAt([g.focal.x, g.focal.y]);
    pen.fillStyle = look.soft;
    pen.beginPath();
    for (const [dx, dy] of [[0, -8], [8, 0], [0, 8], [-8, 0]]) pen.lineTo(fx + dx * ratio, fy + dy * ratio);
    pen.fill();
  }
}
