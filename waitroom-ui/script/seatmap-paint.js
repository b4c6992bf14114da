// Paints over the map's bitmaps what may change with every frame: the visitor's own seats, the
// seats that were found, the keyboard's seat, and the small picture of the whole plan.

const MINI_PX = { width: 104, height: 76 };

/**
 * Marks the visitor's seats (a tick), the found seats (a ring) and the keyboard's seat (a wide
 * ring).
 */
export function paintMarks(context, { g, look }, view, marks) {
  const radius = Math.min(22, g.spacing * view.scale * 0.42);
  const at = (i) => [g.x[i] * view.scale + view.x, g.y[i] * view.scale + view.y];
  for (const i of marks.found) if (!marks.own.has(i)) ring(context, ...at(i), Math.max(7, radius + 3), look.ink, 2.5);
  for (const i of marks.own) own(context, ...at(i), Math.max(4.5, radius), look);
  if (marks.focus >= 0) {
    ring(context, ...at(marks.focus), Math.max(8, radius + 4), look.paper, 6);
    ring(context, ...at(marks.focus), Math.max(8, radius + 4), look.accent, 3);
  }
}

function ring(context, x, y, r, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.arc(x, y, r, 0, 2 * Math.PI);
  context.stroke();
}

function own(context, x, y, r, { ink, paper }) {
  context.fillStyle = ink;
  context.strokeStyle = paper;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y, r + 1, 0, 2 * Math.PI);
  context.fill();
  context.stroke();
  context.lineWidth = Math.max(1.2, r * 0.26);
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(x - r * 0.45, y + r * 0.02);
  context.lineTo(x - r * 0.1, y + r * 0.38);
  context.lineTo(x + r * 0.5, y - r * 0.36);
  context.stroke();
}

/** The small picture of the whole plan, which shows where the view is. */
export class Minimap {
  constructor(scene) {
    this.scene = scene;
    this.canvas = document.createElement("canvas");
    this.fresh = false;
  }

  /** Notes that the plan looks different now. The picture is made again before it is next shown. */
  outdate() {
    this.fresh = false;
  }

  draw(context, view, size, whole) {
    const { look, ratio, g } = this.scene;
    if (!this.place || (!this.fresh && !whole.stale)) this.make(whole);
    const { x, y, width, height, scale } = this.place;
    context.drawImage(this.canvas, x * ratio, y * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.strokeStyle = look.line;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    const [left, top] = [x + 5 + (-view.x / view.scale - g.bounds.left) * scale, y + 5 + (-view.y / view.scale - g.bounds.top) * scale];
    const [w, h] = [(size.width / view.scale) * scale, (size.height / view.scale) * scale];
    const [l, t] = [Math.max(x, left), Math.max(y, top)];
    context.strokeStyle = look.ink;
    context.lineWidth = 2;
    context.strokeRect(l, t, Math.max(3, Math.min(x + width, left + w) - l), Math.max(3, Math.min(y + height, top + h) - t));
  }

  make(whole) {
    const { look, ratio, g } = this.scene;
    const [w, h] = [g.bounds.right - g.bounds.left || 1, g.bounds.bottom - g.bounds.top || 1];
    const scale = Math.min((MINI_PX.width - 10) / w, (MINI_PX.height - 10) / h);
    this.place = { x: 8, y: 8, width: Math.max(20, w * scale + 10), height: Math.max(20, h * scale + 10), scale };
    this.canvas.width = Math.round(this.place.width * ratio);
    this.canvas.height = Math.round(this.place.height * ratio);
    const pen = this.canvas.getContext("2d", { alpha: false });
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const factor = (scale * ratio) / whole.scale;
    pen.drawImage(whole.canvas, 5 * ratio + whole.x * factor, 5 * ratio + whole.y * factor, whole.width * factor, whole.height * factor);
    this.fresh = true;
  }

  /**
   * Returns the point of the plan under a point of the map, or null if it is not on the picture.
   */
  planAt(x, y) {
    if (!this.place) return null;
    const { x: left, y: top, width, height, scale } = this.place;
    if (x < left || y < top || x > left + width || y > top + height) return null;
    return { x: (x - left - 5) / scale + this.scene.g.bounds.left, y: (y - top - 5) / scale + this.scene.g.bounds.top };
  }
}
