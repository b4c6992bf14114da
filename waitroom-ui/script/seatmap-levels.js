// The map's bitmaps: one of the whole plan, and a level of square tiles at the scale of the view.
// While the view moves, the tiles that exist are stretched. Where there is no tile yet, the bitmap
// of the whole plan is shown. Missing tiles are painted in the time that each frame has for this.

import { Bitmap, recycle } from "./seatmap-bitmap.js";
import { Sprites } from "./seatmap-sprites.js";

const TILE_PX = 128;
const TILES_MAX = 300; // Of one level. Each has 128 KiB.
const REBUILD_SEATS = 4000; // If more seats change at once, bitmaps start again.
const STRETCH_MAX = 1.9;
const EDGE_PX = 32; // Around the plan, for outlines.
const KEY_STEP = 65_536;

/** Returns the key of the tile in a column and a row. Both numbers are −1 or more. */
const keyOf = (x, y) => (y + 1) * KEY_STEP + x + 1;

export class Levels {
  constructor(scene) {
    this.scene = scene;
    this.clear();
  }

  /** Drops all bitmaps, because the size or the colours have changed. */
  clear() {
    this.whole = this.shown = this.coming = null;
  }

  /** Replaces the level that is shown, and the one that is being painted. */
  replace(shown, coming) {
    for (const level of [this.shown, this.coming]) {
      if (level && level !== shown && level !== coming) for (const tile of level.tiles.values()) recycle(tile);
    }
    [this.shown, this.coming] = [shown, coming];
  }

  /** Starts all bitmaps again, because seats look different now. */
  restart() {
    this.replace(this.shown, null);
    for (const bitmap of this.all()) bitmap.begin();
  }

  all() {
    return [this.whole, ...(this.shown?.tiles.values() ?? []), ...(this.coming?.tiles.values() ?? [])].filter(Boolean);
  }

  /** Paints the seats that changed. */
  changed(seats) {
    if (seats.length > REBUILD_SEATS) return this.restart();
    this.whole?.repaint(seats);
    for (const level of [this.shown, this.coming]) if (level) this.repaintTiles(level, seats);
  }

  /** Paints seats again in the tiles of a level that they touch. */
  repaintTiles(level, seats) {
    const { g } = this.scene;
    const half = level.sprites.side / 2 + 1;
    const touched = new Map();
    for (const i of seats) {
      const x = (g.x[i] - g.bounds.left) * level.scale;
      const y = (g.y[i] - g.bounds.top) * level.scale;
      for (let ty = Math.floor((y - half) / TILE_PX); ty <= Math.floor((y + half) / TILE_PX); ty++) {
        for (let tx = Math.floor((x - half) / TILE_PX); tx <= Math.floor((x + half) / TILE_PX); tx++) {
          const tile = level.tiles.get(keyOf(tx, ty));
          if (!tile) continue;
          if (!touched.has(tile)) touched.set(tile, []);
          touched.get(tile).push(i);
        }
      }
    }
    for (const [tile, some] of touched) tile.repaint(some);
  }

  sprites(scale) {
    const { g, ratio, look } = this.scene;
    return new Sprites(Math.min(22 * ratio, g.spacing * scale * 0.42), look);
  }

  /** Makes the bitmap of the whole plan at a scale, with a margin around the plan. */
  makeWhole(scale) {
    const { bounds } = this.scene.g;
    const edge = EDGE_PX;
    const [width, height] = [(bounds.right - bounds.left) * scale, (bounds.bottom - bounds.top) * scale].map((px) => Math.ceil(px) + 2 * edge);
    this.whole = new Bitmap(this.scene, this.sprites(scale), scale, -edge, -edge, width, height);
  }

  /**
   * Draws the view onto the canvas and paints missing bitmaps until `end_ms`. `view` is in pixels
   * of the canvas. `whole` is the scale at which the whole plan fits. Returns whether there is more
   * to paint.
   */
  frame(context, view, { width, height }, { whole, moving, end_ms }) {
    if (!this.whole) this.makeWhole(whole);
    if (!this.whole.done) this.whole.work(Infinity); // Without it there is nothing to show.
    this.choose(view, moving);
    const corner = this.corner(view);
    context.imageSmoothingEnabled = !moving;
    this.drawWhole(context, view, corner, width, height);
    if (this.shown) this.drawTiles(context, view, corner, width, height);
    return this.build(view, corner, width, height, end_ms);
  }

  corner(view) {
    const { bounds } = this.scene.g;
    return { x: bounds.left * view.scale + view.x, y: bounds.top * view.scale + view.y };
  }

  /** Decides at which scale tiles are painted next. */
  choose(view, moving) {
    const least = this.whole.scale * 1.001;
    if (this.shown && this.shown.scale > view.scale * 2.5) this.replace(null, this.coming);
    if (view.scale <= least) return this.replace(null, null);
    const off = (scale) => Math.max(scale / view.scale, view.scale / scale);
    const have = this.coming ?? this.shown;
    const good = have && (moving ? off(have.scale) < STRETCH_MAX : off(have.scale) < 1.0001);
    if (!good) this.replace(this.shown, { scale: view.scale, sprites: this.sprites(view.scale), tiles: new Map() });
  }

  drawWhole(context, view, corner, width, height) {
    const { whole } = this;
    const factor = view.scale / whole.scale;
    context.fillStyle = this.scene.look.paper;
    context.fillRect(0, 0, width, height);
    if (this.shown && this.covers(this.shown, view, corner, width, height)) return;
    // Only the part of the plan that is in view is stretched.
    const left = Math.max(0, -(corner.x + whole.x * factor) / factor);
    const top = Math.max(0, -(corner.y + whole.y * factor) / factor);
    const right = Math.min(whole.width, (width - corner.x) / factor - whole.x);
    const bottom = Math.min(whole.height, (height - corner.y) / factor - whole.y);
    if (right <= left || bottom <= top) return;
    const [x, y] = [corner.x + (whole.x + left) * factor, corner.y + (whole.y + top) * factor];
    if (Math.abs(factor - 1) < 1e-6) return context.drawImage(whole.canvas, Math.round(corner.x + whole.x), Math.round(corner.y + whole.y));
    context.drawImage(whole.canvas, left, top, right - left, bottom - top, x, y, (right - left) * factor, (bottom - top) * factor);
  }

  covers(level, view, corner, width, height) {
    return this.tilesIn(level, view, corner, width, height).every((key) => level.tiles.get(key)?.done);
  }

  /** Returns the keys of the tiles of a level that are in view and touch the plan. */
  tilesIn(level, view, corner, width, height) {
    const side = (TILE_PX * view.scale) / level.scale;
    const { bounds } = this.scene.g;
    const last = (length) => Math.floor((length * level.scale + 40) / TILE_PX);
    const range = (at, size, length) => [Math.max(-1, Math.floor(-at / side)), Math.min(last(length), Math.floor((size - at) / side))];
    const [x0, x1] = range(corner.x, width, bounds.right - bounds.left);
    const [y0, y1] = range(corner.y, height, bounds.bottom - bounds.top);
    const keys = [];
    for (let y = y0; y <= y1; y++) for (let x = x0; x <= x1; x++) keys.push(keyOf(x, y));
    return keys;
  }

  drawTiles(context, view, corner, width, height) {
    const side = (TILE_PX * view.scale) / this.shown.scale;
    for (const key of this.tilesIn(this.shown, view, corner, width, height)) {
      const tile = this.shown.tiles.get(key);
      if (!tile?.done) continue;
      const [x, y] = [tile.x / TILE_PX, tile.y / TILE_PX];
      const [left, top] = [Math.round(corner.x + x * side), Math.round(corner.y + y * side)];
      const [w, h] = [Math.round(corner.x + (x + 1) * side) - left, Math.round(corner.y + (y + 1) * side) - top];
      if (w === TILE_PX && h === TILE_PX) context.drawImage(tile.canvas, left, top);
      else context.drawImage(tile.canvas, left, top, w, h);
    }
  }

  /** Paints what is missing until the time is up. Returns whether anything is still missing. */
  build(view, corner, width, height, end_ms) {
    if (!this.whole.work(end_ms)) return true;
    const level = this.coming ?? this.shown;
    if (!level) return false;
    let worked = false;
    for (const key of this.tilesIn(level, view, corner, width, height)) {
      let tile = level.tiles.get(key);
      if (tile && !tile.stale) continue;
      // Each frame works on at least one tile, even if its time is over.
      if (worked && performance.now() >= end_ms) return true;
      if (!tile) {
        const [x, y] = [(key % KEY_STEP) - 1, Math.floor(key / KEY_STEP) - 1];
        tile = new Bitmap(this.scene, level.sprites, level.scale, x * TILE_PX, y * TILE_PX, TILE_PX, TILE_PX);
        level.tiles.set(key, tile);
      }
      if (!tile.work(end_ms)) return true;
      worked = true;
    }
    if (this.coming) {
      this.replace(this.coming, null);
      return true;
    }
    this.forget(level, view, corner, width, height);
    return false;
  }

  forget(level, view, corner, width, height) {
    if (level.tiles.size <= TILES_MAX) return;
    const needed = new Set(this.tilesIn(level, view, corner, width, height));
    for (const [key, tile] of level.tiles) {
      if (level.tiles.size <= TILES_MAX || needed.has(key)) continue;
      level.tiles.delete(key);
      recycle(tile);
    }
  }
}
