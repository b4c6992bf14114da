// The interactive seat map: pan, zoom, pinch, hover, keyboard. It paints at most once a frame. It
// has no part in holds: it shows the seats' states and the visitor's own seats, and reports which
// seat was picked.

import { neighbour, seatAt } from "./geometry.js";
import { onAreaPlate, paint, readColours } from "./seatmap-paint.js";

const TAP_PX = 6; // A pointer that moved less counts as a tap.
const PICK_PX = { mouse: 7, touch: 13, pen: 9 }; // If seats are closer together than this, a tap zooms in first.

export class SeatMap {
  /**
   * `on`: `pick(index)`, `point(index, x, y, byKey)` (index −1: no seat), `area(area)`;
   * `areaWords(free)` returns the words for an area.
   */
  constructor(canvas, geometry, on) {
    this.canvas = canvas;
    this.g = geometry;
    this.on = on;
    this.look = { states: new Uint8Array(geometry.count), own: new Set(), colours: readColours(), focus: -1, areaWords: on.areaWords };
    this.view = { scale: 1, x: 0, y: 0 };
    this.pointers = new Map();
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.look.colours = readColours();
      this.redraw();
    });
    this.listen();
    this.resize();
  }

  setStates(states) {
    this.look.states = states;
    this.redraw();
  }

  setOwn(own) {
    this.look.own = own;
    this.redraw();
  }

  redraw() {
    this.due ||= requestAnimationFrame(() => {
      this.due = 0;
      paint(this.canvas, this.g, this.view, this.look);
    });
  }

  resize() {
    const ratio = Math.min(2, devicePixelRatio || 1);
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!w || !h) return;
    const first = this.fitted === undefined;
    this.canvas.width = Math.round(w * ratio);
    this.canvas.height = Math.round(h * ratio);
    if (first || Math.abs(this.view.scale - this.fitted) < 1e-9) this.fit();
    this.redraw();
  }

  fit() {
    const { left, top, right, bottom } = this.g.bounds;
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const edge = this.g.spacing;
    const scale = Math.min((w - 36) / (right - left + 2 * edge), (h - 36) / (bottom - top + 2 * edge), 26 / this.g.spacing);
    this.fitted = scale;
    this.view = { scale, x: w / 2 - ((left + right) / 2) * scale, y: h / 2 - ((top + bottom) / 2) * scale };
    this.redraw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const most = 44 / this.g.spacing;
    const scale = Math.min(most, Math.max(this.fitted * 0.7, this.view.scale * factor));
    const real = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * real, y: y - (y - this.view.y) * real };
    this.redraw();
  }

  /**
   * Zooms at the middle of the canvas. If no seat is visible then, moves the nearest section there.
   */
  zoomMiddle(factor) {
    this.zoom(factor);
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const seen = (x, y) => x > 0 && y > 0 && x < w && y < h;
    for (let i = 0; i < this.g.count; i++) if (seen(...this.screen(i))) return;
    const away = ({ cx, cy }) => [cx * this.view.scale + this.view.x - w / 2, cy * this.view.scale + this.view.y - h / 2];
    const nearest = this.g.sections.map(away).sort((a, b) => Math.hypot(...a) - Math.hypot(...b))[0];
    if (nearest) this.pan(-nearest[0], -nearest[1]);
  }

  pan(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.redraw();
  }

  /** Brings a seat into view, and zooms in if the seats are too small to distinguish. */
  reveal(index) {
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (this.g.spacing * this.view.scale < 14) this.zoom(18 / (this.g.spacing * this.view.scale));
    const [x, y] = this.screen(index);
    if (x < 30 || y < 30 || x > w - 30 || y > h - 30) this.pan(w / 2 - x, h / 2 - y);
  }

  screen(index) {
    return [this.g.x[index] * this.view.scale + this.view.x, this.g.y[index] * this.view.scale + this.view.y];
  }

  under(x, y) {
    const { scale } = this.view;
    return seatAt(this.g, (x - this.view.x) / scale, (y - this.view.y) / scale, Math.max(this.g.spacing * 0.55, 5 / scale));
  }

  listen() {
    const { canvas } = this;
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { x, y } = at(event);
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0018)), x, y);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, { ...at(event), moved: this.pointers.size ? Infinity : 0 });
    });
    canvas.addEventListener("pointermove", (event) => this.moved(event, at(event)));
    canvas.addEventListener("pointerup", (event) => {
      const was = this.pointers.get(event.pointerId);
      this.pointers.delete(event.pointerId);
      canvas.classList.remove("dragging");
      if (was && was.moved < TAP_PX) this.tap(at(event), event.pointerType);
    });
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.on.point(-1));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => this.setFocus(-1));
  }

  moved(event, to) {
    const was = this.pointers.get(event.pointerId);
    if (!was) {
      const seat = this.under(to.x, to.y);
      this.canvas.classList.toggle("over-seat", seat >= 0);
      return this.on.point(seat, to.x, to.y);
    }
    const [dx, dy] = [to.x - was.x, to.y - was.y];
    if (this.pointers.size === 1) {
      was.moved += Math.hypot(dx, dy);
      if (was.moved >= TAP_PX) {
        this.canvas.classList.add("dragging");
        this.on.point(-1);
        this.pan(dx, dy);
      }
    } else {
      was.moved = Infinity;
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const before = Math.hypot(was.x - other.x, was.y - other.y) || 1;
      const after = Math.hypot(to.x - other.x, to.y - other.y) || 1;
      this.zoom(after / before, (to.x + other.x) / 2, (to.y + other.y) / 2);
      this.pan(dx / 2, dy / 2);
    }
    [was.x, was.y] = [to.x, to.y];
  }

  tap({ x, y }, kind) {
    const area = this.g.areas.find((one) => onAreaPlate(one, this.view, x, y));
    if (area) return this.on.area(area);
    const apart = this.g.spacing * this.view.scale;
    const least = PICK_PX[kind] ?? 9;
    if (apart < least) return this.zoom((least * 1.7) / apart, x, y);
    const seat = this.under(x, y);
    if (seat >= 0) this.on.pick(seat);
  }

  key(event) {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const arrow = arrows[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (arrow) {
      const from = this.look.focus;
      const centre = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2];
      const near = () => seatAt(this.g, (centre[0] - this.view.x) / this.view.scale, (centre[1] - this.view.y) / this.view.scale, Infinity);
      const first = () => this.g.sections[0]?.seats[0] ?? -1;
      const next = from < 0 ? [near(), first()].find((seat) => seat >= 0) ?? -1 : neighbour(this.g, from, ...arrow);
      if (next >= 0) this.setFocus(next);
    } else if ((event.key === "Enter" || event.key === " ") && this.look.focus >= 0) this.on.pick(this.look.focus);
    else if (event.key === "+" || event.key === "=") this.zoomMiddle(1.5);
    else if (event.key === "-") this.zoomMiddle(1 / 1.5);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }

  setFocus(index) {
    if (this.look.focus === index) return;
    this.look.focus = index;
    if (index >= 0) this.reveal(index);
    const [x, y] = index >= 0 ? this.screen(index) : [0, 0];
    this.on.point(index, x, y, true);
    this.redraw();
  }
}
