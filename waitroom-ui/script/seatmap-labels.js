// Words on the map: sections with their prices and free seats when zoomed out, rows when zoomed in,
// areas, and the stage. Each text is drawn once into a small picture, because drawing text is slow.
// If a frame has no time for all missing pictures, the next frames make the others. Until then a
// place keeps the words that it had.

import { FREE } from "./frames.js";

const KEPT_MAX = 600;
const ROWS_PX = 13; // From this distance between seats on, in CSS pixels, rows are named.
const SECTIONS_PX = 13; // Up to this distance, sections are named. A plan may set another.

export class Labels {
  constructor(scene) {
    this.scene = scene;
    this.made = new Map();
    this.last = new Map(); // The last picture that was drawn at each place, such as "stage".
    this.rows = null;
  }

  /** Drops the pictures, because colours or the pixel ratio have changed. */
  clear() {
    this.made.clear();
    this.last.clear();
  }

  /**
   * Draws the words. Makes missing pictures until the time `end_ms` of the page's clock, and at
   * least one. Returns whether any are still missing.
   */
  draw(context, view, size, end_ms) {
    Object.assign(this, { end_ms, anyMade: false, late: false });
    const apart = this.scene.g.spacing * view.scale;
    const place = ([x, y]) => [x * view.scale + view.x, y * view.scale + view.y];
    this.drawStage(context, place);
    this.drawAreas(context, place);
    if (apart >= ROWS_PX) this.drawRows(context, place, size, apart);
    if (apart <= (this.scene.g.namesUpTo ?? SECTIONS_PX)) this.drawSections(context, place, view, size);
    return this.late;
  }

  drawStage(context, place) {
    const { stage } = this.scene.g;
    if (!stage) return;
    const mean = (axis) => stage.points.reduce((sum, point) => sum + point[axis], 0) / stage.points.length;
    this.put(context, this.text("stage", [stage.label || this.scene.words.stage()]), ...place([mean(0), mean(1)]));
  }

  drawSections(context, place, view, size) {
    const shown = [];
    for (const [k, section] of this.scene.g.sections.entries()) {
      const [x, y] = place([section.cx, section.cy]);
      if (!section.name || x < 0 || y < 0 || x > size.width || y > size.height) continue;
      const { left, top, right, bottom } = section.box;
      shown.push({ k, section, x, y, w: (right - left) * view.scale + 8, h: (bottom - top) * view.scale + 8 });
    }
    // Words of a large section stand on it. Those of a small one stand beside it where no other
    // section is, because there a reader would take them for the other section's words.
    const words = [];
    for (const one of [...shown.filter((each) => !isSmall(each)), ...shown.filter(isSmall)]) {
      // Where there is no room for both lines, the name alone may still fit.
      const { name } = one.section;
      const pictures = [this.text(`section ${one.k}`, [name, this.scene.words.section(one.k)]), this.text(`name ${one.k}`, [name])].filter(Boolean);
      const tries = pictures.flatMap((picture) => this.spots(one, picture, picture === pictures.at(-1)).map(([x, y]) => ({ picture, ...this.boxOf(picture, x, y, size) })));
      const others = isSmall(one) ? shown.filter((other) => other !== one) : shown.filter(isSmall);
      const blocked = [...others, ...words];
      const box = tries.find((spot) => !blocked.some((other) => meets(other, spot)));
      if (!box) continue;
      words.push(box);
      this.put(context, box.picture, box.x, box.y);
    }
  }

  /**
   * Returns the points around which a section's words may stand, the best first. In a large
   * section, only the name may leave the middle: two lines would reach into another section.
   */
  spots(one, picture, isName) {
    const { x, y, w, h } = one;
    if (!isSmall(one)) return (isName ? [0, -0.2, 0.2, -0.36, 0.36] : [0]).map((share) => [x, y + share * h]);
    const [wide, high] = [picture.width / this.scene.ratio, picture.height / this.scene.ratio];
    const [dx, dy] = [(w + wide) / 2 + 4, (h + high) / 2 + 3];
    const on = wide <= w && high <= h ? [[x, y]] : [];
    return [...on, [x, y + dy], [x, y - dy], [x + dx, y], [x - dx, y]];
  }

  /** Returns where a picture goes: around a point, but inside the map. */
  boxOf(picture, x, y, size) {
    const { ratio } = this.scene;
    const [w, h] = [picture.width / ratio, picture.height / ratio];
    const within = (at, half, length) => Math.min(Math.max(at, half + 2), Math.max(half + 2, length - half - 2));
    return { x: within(x, w / 2, size.width), y: within(y, h / 2, size.height), w, h };
  }

  drawRows(context, place, size, apart) {
    const off = Math.max(12, apart * 0.8);
    this.rows ??= rowEnds(this.scene.g);
    for (const { label, x, y, dx, dy } of this.rows) {
      const [ax, ay] = place([x, y]);
      const [px, py] = [ax + dx * off, ay + dy * off];
      if (px < -20 || py < -20 || px > size.width + 20 || py > size.height + 20) continue;
      this.put(context, this.text(`row ${label}`, [label], true), px, py);
    }
  }

  drawAreas(context, place) {
    for (const area of this.scene.g.areas) {
      if (!area.center) continue;
      const free = this.freeIn(area);
      const picture = this.picture(`area ${area.label}`, `area ${area.label} ${free}`, (pen) => this.plate(pen, area, free));
      this.put(context, picture, ...place([area.center.x, area.center.y]));
    }
  }

  freeIn(area) {
    let free = 0;
    for (let i = area.first; i < area.end; i++) if (this.scene.states[i] === FREE) free += 1;
    return free;
  }

  put(context, picture, x, y) {
    if (!picture) return;
    const { ratio } = this.scene;
    context.drawImage(picture, Math.round(x * ratio - picture.width / 2), Math.round(y * ratio - picture.height / 2));
  }

  text(place, lines, soft = false) {
    const kept = lines.filter(Boolean);
    return this.picture(place, `${soft} ${kept.join("\n")}`, (pen) => {
      const font = (k) => `${k === 0 ? 600 : 500} ${soft ? 11 : 13 - k}px system-ui, sans-serif`;
      const width = Math.max(...kept.map((line, k) => ((pen.font = font(k)), pen.measureText(line).width)));
      return {
        width: width + 10,
        height: kept.length * 16 + 4,
        draw: () => kept.forEach((line, k) => this.write(pen, line, font(k), (k - (kept.length - 1) / 2) * 16, soft)),
      };
    });
  }

  write(pen, line, font, y, soft) {
    const { look } = this.scene;
    pen.font = font;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = soft ? 3 : 4;
    pen.strokeStyle = look.paper;
    pen.strokeText(line, 0, y);
    pen.fillStyle = soft ? look.soft : look.ink;
    pen.fillText(line, 0, y);
  }

  plate(pen, area, free) {
    const { look, words, g } = this.scene;
    const line = `${area.label} · ${words.area(free)}`;
    pen.font = "600 14px system-ui, sans-serif";
    const width = pen.measureText(line).width + 24;
    const draw = () => {
      pen.fillStyle = look.paper;
      pen.strokeStyle = free ? look.categories[g.category[area.first]] : look.sold;
      pen.lineWidth = 2.5;
      pen.setLineDash(free ? [] : [5, 4]);
      pen.beginPath();
      pen.roundRect(-width / 2, -18, width, 36, 10);
      pen.fill();
      pen.stroke();
      pen.font = "600 14px system-ui, sans-serif";
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillStyle = look.ink;
      pen.fillText(line, 0, 0.5);
    };
    return { width: width + 6, height: 42, draw };
  }

  /**
   * Returns the picture of the words `key`. If there is no time to make it, returns the last
   * picture at `place`.
   */
  picture(place, key, prepare) {
    if (!this.made.has(key)) {
      if (this.anyMade && performance.now() >= this.end_ms) {
        this.late = true;
        return this.last.get(place);
      }
      if (this.made.size > KEPT_MAX) this.made.clear();
      this.made.set(key, this.make(prepare));
      this.anyMade = true;
    }
    const picture = this.made.get(key);
    this.last.set(place, picture);
    return picture;
  }

  make(prepare) {
    const canvas = document.createElement("canvas");
    const pen = canvas.getContext("2d");
    const { width, height, draw } = prepare(pen);
    const { ratio } = this.scene;
    canvas.width = Math.ceil(width * ratio);
    canvas.height = Math.ceil(height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, canvas.width / 2, canvas.height / 2);
    draw();
    return canvas;
  }
}

const isSmall = ({ h }) => h < 52;
const meets = (a, b) => Math.abs(a.x - b.x) * 2 < a.w + b.w && Math.abs(a.y - b.y) * 2 < a.h + b.h;

/** Returns where each row begins and ends, and in which direction its label stands from there. */
function rowEnds(g) {
  const ends = [];
  for (const { rows } of g.sections) {
    for (const { label, seats } of rows) {
      if (!label) continue;
      const [first, last] = [seats[0], seats.at(-1)];
      const end = (at, next, back) => {
        const [dx, dy] = at === next ? [back, 0] : [g.x[at] - g.x[next], g.y[at] - g.y[next]];
        const length = Math.hypot(dx, dy) || 1;
        ends.push({ label, x: g.x[at], y: g.y[at], dx: dx / length, dy: dy / length });
      };
      end(first, seats[1] ?? first, -1);
      if (seats.length > 1) end(last, seats.at(-2), 1);
    }
  }
  return ends;
}

/**
 * Returns whether a CSS point is near enough to the centre of an area's plate to count as a tap on
 * it. The real width of the plate is not used.
 */
export function onAreaPlate(area, view, x, y) {
  return Boolean(area.center) && Math.abs(area.center.x * view.scale + view.x - x) < 70 && Math.abs(area.center.y * view.scale + view.y - y) < 20;
}
