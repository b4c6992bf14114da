// Paints the seats onto the canvas, in two levels of detail. Zoomed out, each seat is a few pixels
// written directly into one image. Zoomed in, each seat is a small picture whose shape and colour
// show its state.

import { FREE, HELD, SOLD } from "./frames.js";

const NEAR_PX = 2.6; // From this radius on shapes can be distinguished.

/** Reads the page's colours for states. Called again when the theme changes. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { ink: of("--ink"), paper: of("--card"), held: of("--seat-held"), sold: of("--seat-sold"), blocked: of("--seat-blocked"), soft: of("--soft"), accent: of("--accent") };
}

/**
 * Paints the plan. `view`: {scale, x, y} from plan to CSS pixels; `look`: {states, own, colours,
 * focus, areaWords}.
 */
export function paint(canvas, g, view, look) {
  const ratio = canvas.width / canvas.clientWidth || 1;
  const context = canvas.getContext("2d");
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  const radius = Math.min(22, g.spacing * view.scale * 0.42);
  if (radius < NEAR_PX) paintFar(context, canvas, g, view, look, ratio, radius);
  else paintNear(context, canvas, g, view, look, ratio, radius);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  paintFocal(context, g, view, look);
  paintAreas(context, g, view, look);
  if (radius < 7 && g.sections.length > 1) paintSectionNames(context, canvas, g, view, look);
  if (look.focus >= 0) paintFocus(context, g, view, look, radius);
}

function packed(colour) {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = colour;
  const hex = probe.fillStyle;
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

function paintFar(context, canvas, g, view, look, ratio, radius) {
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const free = g.categories.map((category) => packed(category.color));
  const other = [0, packed(look.colours.held), packed(look.colours.blocked), packed(look.colours.blocked)];
  const own = packed(look.colours.ink);
  const size = Math.max(1, Math.round(radius * 2 * ratio * 0.9));
  for (let i = 0; i < g.count; i++) {
    if (g.inArea[i]) continue;
    const mine = look.own.has(i);
    const state = look.states[i];
    const grow = mine ? 2 : 0;
    const side = (!mine && state !== FREE && state !== HELD ? Math.max(1, size >> 1) : size) + grow;
    const x0 = Math.round((g.x[i] * view.scale + view.x) * ratio - side / 2);
    const y0 = Math.round((g.y[i] * view.scale + view.y) * ratio - side / 2);
    if (x0 < 0 || y0 < 0 || x0 + side > canvas.width || y0 + side > canvas.height) continue;
    const colour = mine ? own : state === FREE ? free[g.category[i]] : other[state];
    for (let y = y0; y < y0 + side; y++) pixels.fill(colour, y * canvas.width + x0, y * canvas.width + x0 + side);
  }
  context.putImageData(image, 0, 0);
}

function paintNear(context, canvas, g, view, look, ratio, radius) {
  const box = Math.ceil((radius * 2 + 4) * ratio);
  const made = new Map();
  const sprite = (name, draw) => {
    if (!made.has(name)) {
      const small = document.createElement("canvas");
      small.width = small.height = box;
      const pen = small.getContext("2d");
      pen.setTransform(ratio, 0, 0, ratio, box / 2, box / 2);
      draw(pen, radius);
      made.set(name, small);
    }
    return made.get(name);
  };
  const { colours } = look;
  const numbers = [];
  for (let i = 0; i < g.count; i++) {
    if (g.inArea[i]) continue;
    const x = (g.x[i] * view.scale + view.x) * ratio;
    const y = (g.y[i] * view.scale + view.y) * ratio;
    if (x < -box || y < -box || x > canvas.width + box || y > canvas.height + box) continue;
    const colour = g.categories[g.category[i]].color;
    const mine = look.own.has(i);
    const state = look.states[i];
    const seat = g.seats[i];
    let picture;
    if (mine) picture = sprite("own", (pen, r) => drawOwn(pen, r, colours));
    else if (state === FREE) picture = sprite(`free ${colour} ${seat.accessible}`, (pen, r) => drawFree(pen, r, colour, seat.accessible, colours));
    else if (state === HELD) picture = sprite("held", (pen, r) => drawHeld(pen, r, colours));
    else if (state === SOLD) picture = sprite("sold", (pen, r) => drawSold(pen, r, colours));
    else picture = sprite("blocked", (pen, r) => drawBlocked(pen, r, colours));
    context.drawImage(picture, Math.round(x - box / 2), Math.round(y - box / 2));
    if (radius >= 11 && !mine && state === FREE && !seat.accessible) numbers.push(i);
  }
  if (!numbers.length) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const i of numbers) {
    const long = (g.seats[i].number ?? "").length > 2;
    context.font = `600 ${Math.round(radius * (long ? 0.66 : 0.85))}px system-ui, sans-serif`;
    context.fillStyle = inkOn(g.categories[g.category[i]].color);
    context.fillText(g.seats[i].number ?? "", g.x[i] * view.scale + view.x, g.y[i] * view.scale + view.y + 0.5, radius * 1.8);
  }
}

/** Returns black or white, the one that is easier to read on a colour. */
function inkOn(colour) {
  const linear = [1, 3, 5].map((at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.18 ? "#000000" : "#ffffff";
}

function circle(pen, r) {
  pen.beginPath();
  pen.arc(0, 0, r, 0, 2 * Math.PI);
}

function drawFree(pen, r, colour, accessible, colours) {
  pen.fillStyle = colour;
  circle(pen, accessible ? r * 0.62 : r);
  pen.fill();
  if (!accessible) return;
  pen.strokeStyle = colours.ink;
  pen.lineWidth = Math.max(1, r * 0.18);
  pen.strokeRect(-r * 0.92, -r * 0.92, r * 1.84, r * 1.84);
}

function drawOwn(pen, r, colours) {
  pen.fillStyle = colours.ink;
  circle(pen, r + 1);
  pen.fill();
  pen.strokeStyle = colours.paper;
  pen.lineWidth = Math.max(1.2, r * 0.26);
  pen.lineCap = "round";
  pen.beginPath();
  pen.moveTo(-r * 0.45, r * 0.02);
  pen.lineTo(-r * 0.1, r * 0.38);
  pen.lineTo(r * 0.5, -r * 0.36);
  pen.stroke();
}

function drawHeld(pen, r, colours) {
  pen.strokeStyle = colours.held;
  pen.lineWidth = Math.max(1, r * 0.26);
  circle(pen, r * 0.8);
  pen.stroke();
}

function drawSold(pen, r, colours) {
  pen.strokeStyle = colours.sold;
  pen.lineWidth = Math.max(1, r * 0.3);
  const d = r * 0.55;
  pen.beginPath();
  pen.moveTo(-d, -d);
  pen.lineTo(d, d);
  pen.moveTo(d, -d);
  pen.lineTo(-d, d);
  pen.stroke();
}

function drawBlocked(pen, r, colours) {
  pen.fillStyle = colours.blocked;
  circle(pen, Math.max(0.8, r * 0.28));
  pen.fill();
}

function paintFocus(context, g, view, look, radius) {
  context.strokeStyle = look.colours.accent;
  context.lineWidth = 3;
  context.beginPath();
  context.arc(g.x[look.focus] * view.scale + view.x, g.y[look.focus] * view.scale + view.y, Math.max(8, radius + 4), 0, 2 * Math.PI);
  context.stroke();
}

function paintFocal(context, g, view, look) {
  if (!g.focal) return;
  const [x, y] = [g.focal.x * view.scale + view.x, g.focal.y * view.scale + view.y];
  context.fillStyle = look.colours.soft;
  context.beginPath();
  context.moveTo(x, y - 8);
  context.lineTo(x + 8, y);
  context.lineTo(x, y + 8);
  context.lineTo(x - 8, y);
  context.fill();
}

function written(context, text, x, y, look) {
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = look.colours.paper;
  context.strokeText(text, x, y);
  context.fillStyle = look.colours.ink;
  context.fillText(text, x, y);
}

function paintSectionNames(context, canvas, g, view, look) {
  context.font = "600 13px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  const taken = [];
  for (const section of g.sections) {
    if (!section.name || section.seats.length < 12) continue;
    const [x, y] = [section.cx * view.scale + view.x, section.cy * view.scale + view.y];
    const half = context.measureText(section.name).width / 2 + 4;
    if (x < 0 || y < 0 || x > canvas.clientWidth || y > canvas.clientHeight) continue;
    if (taken.some((other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) < 20)) continue;
    taken.push({ x, y, half });
    written(context, section.name, x, y, look);
  }
}

function paintAreas(context, g, view, look) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const area of g.areas) {
    if (!area.center) continue;
    let free = 0;
    for (let i = area.first; i < area.end; i++) if (look.states[i] === FREE) free += 1;
    const [x, y] = [area.center.x * view.scale + view.x, area.center.y * view.scale + view.y];
    context.font = "600 14px system-ui, sans-serif";
    const words = `${area.label} · ${look.areaWords(free)}`;
    const width = context.measureText(words).width + 24;
    const category = g.categories[g.category[area.first]];
    context.fillStyle = look.colours.paper;
    context.strokeStyle = free ? (category?.color ?? look.colours.soft) : look.colours.sold;
    context.lineWidth = 2.5;
    context.setLineDash(free ? [] : [5, 4]);
    context.beginPath();
    context.roundRect(x - width / 2, y - 18, width, 36, 10);
    context.fill();
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = look.colours.ink;
    context.fillText(words, x, y + 0.5);
  }
}

/**
 * Returns whether a CSS point is near enough to the centre of an area's plate to count as a tap on
 * it. The real width of the plate is not used.
 */
export function onAreaPlate(area, view, x, y) {
  return Boolean(area.center) && Math.abs(area.center.x * view.scale + view.x - x) < 70 && Math.abs(area.center.y * view.scale + view.y - y) < 20;
}
