// The interactive seat map: what it shows, which part of the plan is in view, and its frames. It
// paints at most once a frame. It has no part in holds. It shows the seats' states, the visitor's
// own seats and the seats that were found. It reports which seat was picked.

import { BLOCKED, FREE } from "./frames.js";
import { gridOf, seatAt } from "./geometry.js";
import { listen } from "./seatmap-gestures.js";
import { Labels, onAreaPlate } from "./seatmap-labels.js";
import { Levels } from "./seatmap-levels.js";
import { readLook } from "./seatmap-look.js";
import { sectionAt } from "./seatmap-outlines.js";
import { Minimap, paintMarks } from "./seatmap-paint.js";
import { between, kept, viewOf, wholeView, zoomed } from "./seatmap-view.js";

// If seats are closer together than this, a tap zooms in first.
const PICK_PX = { mouse: 7, touch: 13, pen: 9 };
const FRAME_MS = 5; // The time for painting bitmaps in each frame. The browser has the rest.
const RESIZED_MS = 60; // The same, right after the map's size has changed, when nothing moves.
const STILL_MS = 120; // After this time without movement, the picture is painted sharp.
const FLIGHT_MS = 420;

export class SeatMap {
  /**
   * `on`: `pick(index)`, `point(index, x, y, byKey)` (index −1: no seat), `area(area)`, `drawn()`
   * once the first picture with states is there, `recoloured()`. `words`: `area(free)`,
   * `section(section, free)` and `stage()` return words for the picture.
   */
  constructor(canvas, g, on, words) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.g = g;
    this.on = on;
    this.freeOf = new Uint32Array(g.sections.length);
    this.scene = {
      g,
      look: readLook(g),
      states: new Uint8Array(g.count).fill(BLOCKED),
      ratio: 1,
      faded: new Uint8Array(g.count),
      words: { ...words, section: (k) => words.section(g.sections[k], this.freeOf[k]) },
    };
    this.tally = [0, 0, 0, g.count]; // Seats by state.
    this.marks = { own: new Set(), found: [], focus: -1 };
    this.levels = new Levels(this.scene);
    this.labels = new Labels(this.scene);
    this.minimap = new Minimap(this.scene);
    this.pending = []; // Seats to paint again in the next frame.
    this.movedAt = -Infinity;
    new ResizeObserver(() => this.resize()).observe(canvas);
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) matchMedia(query).addEventListener("change", () => this.readColours());
    listen(canvas, this);
    this.resize();
  }

  // --- What is shown ---

  /** Shows new states. `changed`: the seats whose states may differ, or "all". */
  setStates(states, changed) {
    const differing = [];
    if (changed === "all") {
      for (let i = 0; i < states.length; i++) if (states[i] !== this.scene.states[i]) differing.push(i);
    } else for (const i of changed) if (states[i] !== this.scene.states[i]) differing.push(i);
    for (const i of differing) this.count(i, states[i]);
    const first = !this.known;
    this.known = true;
    if (!differing.length && !first) return;
    // The first picture is painted from the states, so nothing has to be painted again.
    if (!first) for (const i of differing) this.pending.push(i);
    this.redraw();
  }

  count(i, state) {
    const oldState = this.scene.states[i];
    if (oldState === state) return; // A seat that changed twice stands in the list twice.
    this.tally[oldState] -= 1;
    this.tally[state] += 1;
    this.scene.states[i] = state;
    if (this.g.inArea[i]) return;
    if (state === FREE) this.freeOf[this.g.sectionOf[i]] += 1;
    else if (oldState === FREE) this.freeOf[this.g.sectionOf[i]] -= 1;
  }

  setOwn(own) {
    this.marks.own = own;
    this.redraw();
  }

  /** Marks seats that were found for the visitor, and brings them into view. */
  setFound(seats) {
    this.marks.found = seats;
    if (seats.length) this.flyToSeats(seats);
    this.redraw();
  }

  /** Brings seats into view, if they are not there already. */
  showSeats(seats) {
    const { width, height } = this.size;
    const isInView = ([x, y]) => x > 10 && y > 10 && x < width - 10 && y < height - 10;
    const isLarge = this.g.spacing * this.view.scale >= 12;
    this.marks.found = [];
    if (seats.length && !(isLarge && seats.every((i) => isInView(this.screen(i))))) this.flyToSeats(seats);
    this.redraw();
  }

  /** Fades the seats for which `fits` returns false. */
  setFilter(fits) {
    for (let i = 0; i < this.g.count; i++) this.scene.faded[i] = fits(i) ? 0 : 1;
    this.levels.restart();
    this.minimap.outdate();
    this.redraw();
  }

  readColours() {
    this.scene.look = readLook(this.g);
    this.levels.clear();
    this.labels.clear();
    this.minimap.outdate();
    this.on.recoloured?.();
    this.redraw();
  }

  // --- Frames ---

  redraw() {
    this.due ||= requestAnimationFrame(() => {
      this.due = 0;
      this.frame(performance.now());
    });
  }

  /** Draws a frame, and paints missing bitmaps for up to `budget_ms`. */
  frame(now, budget_ms = FRAME_MS) {
    if (!this.fitted || !this.known) return;
    const { scene, canvas, context, view } = this;
    const { ratio } = scene;
    this.paintPending();
    this.fly(now);
    const moving = this.flight !== undefined || now - this.movedAt < STILL_MS;
    const pixels = { scale: this.view.scale * ratio, x: this.view.x * ratio, y: this.view.y * ratio };
    context.setTransform(1, 0, 0, 1, 0, 0);
    const more = this.levels.frame(context, pixels, canvas, { whole: this.fitted * ratio, moving, end_ms: now + budget_ms });
    context.imageSmoothingEnabled = true;
    // Seats come first: the first picture has no words, which follow in the next frame.
    const unsaid = !this.told || this.labels.draw(context, this.view, this.size, now + budget_ms);
    if (this.isZoomed()) this.minimap.draw(context, this.view, this.size, this.levels.whole);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintMarks(context, scene, this.view, this.marks);
    if (this.known && !this.told) {
      this.told = true;
      this.on.drawn();
      // Makes the grid now, so that nobody waits for it when zooming in.
      setTimeout(() => gridOf(this.g));
    }
    if (more || unsaid || moving || view !== this.view) this.redraw();
  }

  /** Paints the seats that changed since the last frame, each once. */
  paintPending() {
    if (!this.pending.length) return;
    this.levels.changed([...new Set(this.pending)]);
    this.pending = [];
    this.minimap.outdate();
  }

  // --- Which part of the plan is in view ---

  isZoomed() {
    return this.view.scale > this.fitted * 1.02;
  }

  resize() {
    const ratio = Math.min(2, devicePixelRatio || 1);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    this.size = { width, height };
    const atWhole = this.fitted === undefined || !this.isZoomed();
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    if (this.scene.ratio !== ratio) this.labels.clear();
    this.scene.ratio = ratio;
    const whole = wholeView(this.g, this.size);
    this.fitted = whole.scale;
    this.levels.clear();
    this.minimap.outdate();
    this.look(atWhole ? whole : zoomed(this.view, 1, width / 2, height / 2, this.fitted, this.g.spacing));
    // A canvas whose size changed is empty until it is painted. The first frame paints the bitmaps
    // and the second one shows them.
    for (let k = 0; k < 2; k++) this.frame(performance.now(), RESIZED_MS);
  }

  /** Shows a view at once. */
  look(view) {
    this.view = kept(view, this.g.bounds, this.size);
    this.movedAt = performance.now();
    // While the whole plan is shown, a finger on it scrolls the page.
    this.canvas.classList.toggle("zoomed", this.isZoomed());
    this.redraw();
  }

  /** Moves to a view in a short flight, or at once if the visitor wants no movement. */
  flyTo(view) {
    this.flight = undefined;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.look(view);
    this.flight = { from: this.view, to: kept(view, this.g.bounds, this.size), began: performance.now() };
    this.redraw();
  }

  fly(now) {
    if (!this.flight) return;
    const { from, to, began } = this.flight;
    const share = Math.min(1, (now - began) / FLIGHT_MS);
    if (share === 1) this.flight = undefined;
    this.look(share === 1 ? to : between(from, to, share * share * (3 - 2 * share), this.size));
  }

  flyToSeats(seats) {
    const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    for (const i of seats) {
      box.left = Math.min(box.left, this.g.x[i]);
      box.right = Math.max(box.right, this.g.x[i]);
      box.top = Math.min(box.top, this.g.y[i]);
      box.bottom = Math.max(box.bottom, this.g.y[i]);
    }
    const around = 3 * this.g.spacing;
    this.flyTo(viewOf({ left: box.left - around, top: box.top - around, right: box.right + around, bottom: box.bottom + around }, this.size, this.g.spacing));
  }

  showSection(k) {
    this.flyTo(viewOf(this.g.sections[k].box, this.size, this.g.spacing));
  }

  fit() {
    this.flyTo(wholeView(this.g, this.size));
  }

  zoom(factor, x, y) {
    this.flight = undefined;
    this.look(zoomed(this.view, factor, x, y, this.fitted, this.g.spacing));
  }

  /**
   * Zooms at the middle. If no seat is visible afterwards, moves the nearest section to the middle.
   */
  zoomMiddle(factor) {
    const { width, height } = this.size;
    this.zoom(factor, width / 2, height / 2);
    const reach = Math.max(width, height) / 2 / this.view.scale;
    if (seatAt(this.g, ...this.planAt(width / 2, height / 2), reach) >= 0) return;
    const away = ({ cx, cy }) => [cx * this.view.scale + this.view.x - width / 2, cy * this.view.scale + this.view.y - height / 2];
    const nearest = this.g.sections.map(away).sort((a, b) => Math.hypot(...a) - Math.hypot(...b))[0];
    if (nearest) this.pan(-nearest[0], -nearest[1]);
  }

  pan(dx, dy) {
    this.flight = undefined;
    this.look({ scale: this.view.scale, x: this.view.x + dx, y: this.view.y + dy });
  }

  /** Brings a seat into view, and zooms in if the seats are too small to distinguish. */
  reveal(index) {
    const { width, height } = this.size;
    const apart = this.g.spacing * this.view.scale;
    if (apart < 14) this.zoom(18 / apart, width / 2, height / 2);
    const [x, y] = this.screen(index);
    if (x < 30 || y < 30 || x > width - 30 || y > height - 30) this.pan(width / 2 - x, height / 2 - y);
  }

  screen(index) {
    return [this.g.x[index] * this.view.scale + this.view.x, this.g.y[index] * this.view.scale + this.view.y];
  }

  /** Returns where a seat is in the window, for tests. */
  windowPoint(index) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const [x, y] = this.screen(index);
    return [left + x, top + y];
  }

  planAt(x, y) {
    return [(x - this.view.x) / this.view.scale, (y - this.view.y) / this.view.scale];
  }

  // --- What a visitor does ---

  under(x, y) {
    return seatAt(this.g, ...this.planAt(x, y), Math.max(this.g.spacing * 0.55, 5 / this.view.scale));
  }

  tap({ x, y }, kind) {
    const mini = this.isZoomed() ? this.minimap.planAt(x, y) : null;
    if (mini) {
      const { width, height } = this.size;
      return this.flyTo({ scale: this.view.scale, x: width / 2 - mini.x * this.view.scale, y: height / 2 - mini.y * this.view.scale });
    }
    const area = this.g.areas.find((one) => onAreaPlate(one, this.view, x, y));
    if (area) return this.on.area(area);
    const apart = this.g.spacing * this.view.scale;
    const least = PICK_PX[kind] ?? 9;
    if (apart < least) return this.approach(x, y, least);
    const seat = this.under(x, y);
    if (seat >= 0) this.on.pick(seat);
  }

  /**
   * Zooms to the section under a point or, if it fills the map already, until seats can be picked.
   */
  approach(x, y, least) {
    const { scale } = this.view;
    const section = this.g.sections[sectionAt(this.g, ...this.planAt(x, y), 24 / scale)];
    const sectionView = section && viewOf(section.box, this.size, this.g.spacing);
    if (sectionView && sectionView.scale > scale * 1.3) return this.flyTo(sectionView);
    this.flyTo(zoomed(this.view, (least * 1.7) / (this.g.spacing * scale), x, y, this.fitted, this.g.spacing));
  }

  setFocus(index) {
    if (this.marks.focus === index) return;
    this.marks.focus = index;
    if (index >= 0) this.reveal(index);
    const [x, y] = index >= 0 ? this.screen(index) : [0, 0];
    this.on.point(index, x, y, true);
    this.redraw();
  }
}
