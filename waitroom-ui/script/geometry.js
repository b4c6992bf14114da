// A show's seat map in the form that the page uses: positions as typed arrays, the seats of each
// section, row and area, the usual distance between seats, and a grid of buckets that finds the
// seat under a finger quickly. This is pure code that needs no page.

const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a6d1f", "#6a51a3"];

/**
 * Reads the JSON of `GET /v1/shows/{show}/seatmap` and the show's `categories`, which have the
 * prices.
 */
export function readGeometry(json, categories) {
  const count = json.seats.length;
  const g = {
    count,
    seats: json.seats,
    x: Float32Array.from(json.seats, (seat) => seat.x),
    y: Float32Array.from(json.seats, (seat) => seat.y),
    index: new Map(json.seats.map((seat, i) => [seat.label, i])),
    zones: json.zones ?? [],
    focal: json.focal ?? null,
    areas: (json.areas ?? []).map((area) => ({ ...area, end: area.first + area.capacity })),
  };
  g.categories = orderCategories(json, categories);
  const place = new Map(g.categories.map((category, i) => [category.key, i]));
  g.category = Uint16Array.from(json.seats, (seat) => place.get(String(seat.category)) ?? 0);
  g.inArea = new Uint8Array(count);
  for (const area of g.areas) g.inArea.fill(1, area.first, area.end);
  g.bounds = boundsOf(g);
  g.spacing = spacingOf(g);
  g.buckets = bucketsOf(g);
  g.sections = sectionsOf(g);
  return g;
}

function orderCategories(json, categories) {
  const priced = new Map((categories ?? []).map((category) => [String(category.key), category]));
  const drawn = (json.categories ?? []).map((category) => ({ ...category, key: String(category.key) }));
  for (const key of priced.keys()) if (!drawn.some((category) => category.key === key)) drawn.push({ key, label: key });
  if (!drawn.length) drawn.push({ key: "", label: "" });
  return drawn.map((category, i) => ({ ...category, ...priced.get(category.key), color: colour(category.color, i) }));
}

/**
 * Returns the colour that the plan gives to a category, or a colour of the palette if the plan
 * gives no valid colour. A colour that is nearly white or nearly black is replaced, too, because it
 * cannot be seen in the light or in the dark theme.
 */
function colour(given, i) {
  if (/^#[0-9a-f]{6}$/i.test(given ?? "")) {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(given.slice(at, at + 2), 16));
    const light = (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
    if (light > 0.18 && light < 0.8) return given;
  }
  return PALETTE[i % PALETTE.length];
}

function boundsOf(g) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  const add = (x, y) => {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  };
  for (let i = 0; i < g.count; i++) add(g.x[i], g.y[i]);
  if (g.focal) add(g.focal.x, g.focal.y);
  for (const area of g.areas) if (area.center) add(area.center.x, area.center.y);
  return g.count ? { left, top, right, bottom } : { left: 0, top: 0, right: 1, bottom: 1 };
}

/**
 * Returns the usual distance to the nearest neighbour: the median over a sample of fewer than 800
 * seats, spread through the list.
 */
function spacingOf(g) {
  const drawn = [];
  for (let i = 0; i < g.count; i++) if (!g.inArea[i]) drawn.push(i);
  if (drawn.length < 2) return Math.max(1, (g.bounds.right - g.bounds.left) / 40);
  const step = Math.max(1, Math.floor(drawn.length / 400));
  const found = [];
  for (let k = 0; k < drawn.length; k += step) {
    let nearest = Infinity;
    // Neighbours on the plan are near each other in its list, too.
    for (let m = Math.max(0, k - 60); m < Math.min(drawn.length, k + 60); m++) {
      const d = Math.hypot(g.x[drawn[k]] - g.x[drawn[m]], g.y[drawn[k]] - g.y[drawn[m]]);
      if (d > 0 && d < nearest) nearest = d;
    }
    if (nearest < Infinity) found.push(nearest);
  }
  found.sort((a, b) => a - b);
  return found[Math.floor(found.length / 2)] || 1;
}

function bucketsOf(g) {
  const size = g.spacing * 2;
  const columns = Math.max(1, Math.min(2048, Math.ceil((g.bounds.right - g.bounds.left) / size) + 1));
  const buckets = new Map();
  for (let i = 0; i < g.count; i++) {
    if (g.inArea[i]) continue;
    const key = bucketKey(g.bounds, size, columns, g.x[i], g.y[i]);
    const bucket = buckets.get(key);
    if (bucket) bucket.push(i);
    else buckets.set(key, [i]);
  }
  return { size, columns, buckets };
}

const bucketKey = (bounds, size, columns, x, y) => Math.floor((y - bounds.top) / size) * columns * 4 + Math.floor((x - bounds.left) / size);

/**
 * Returns the seat nearest to a point of the plan within `reach`, or -1. It looks at most 4 buckets
 * away in each direction.
 */
export function seatAt(g, x, y, reach) {
  const { size, columns, buckets } = g.buckets;
  let [best, bestAt] = [reach, -1];
  const rings = Math.min(4, Math.ceil(reach / size));
  for (let dy = -rings; dy <= rings; dy++) {
    for (let dx = -rings; dx <= rings; dx++) {
      for (const i of buckets.get(bucketKey(g.bounds, size, columns, x + dx * size, y + dy * size)) ?? []) {
        const d = Math.hypot(g.x[i] - x, g.y[i] - y);
        if (d < best) [best, bestAt] = [d, i];
      }
    }
  }
  return bestAt;
}

/**
 * Returns the seat to which an arrow key moves from `from`, or -1 if there is none. A seat straight
 * ahead is preferred to one at the side.
 */
export function neighbour(g, from, dx, dy) {
  let [best, bestAt] = [Infinity, -1];
  for (let i = 0; i < g.count; i++) {
    if (i === from || g.inArea[i]) continue;
    const [ax, ay] = [g.x[i] - g.x[from], g.y[i] - g.y[from]];
    const ahead = ax * dx + ay * dy;
    const aside = Math.abs(ax * dy) + Math.abs(ay * dx);
    if (ahead <= g.spacing * 0.2 || aside > ahead * 2) continue;
    const cost = ahead + 2 * aside;
    if (cost < best) [best, bestAt] = [cost, i];
  }
  return bestAt;
}

/**
 * Groups seats by section and row, in the plan's order, as
 * `[{name, cx, cy, seats, rows: [{label, seats}]}]`. Seats of areas are left out.
 */
function sectionsOf(g) {
  const sections = new Map();
  for (let i = 0; i < g.count; i++) {
    if (g.inArea[i]) continue;
    const seat = g.seats[i];
    const name = seat.section ?? "";
    let section = sections.get(name);
    if (!section) sections.set(name, (section = { name, seats: [], rows: new Map() }));
    section.seats.push(i);
    const row = seat.row ?? "";
    if (!section.rows.has(row)) section.rows.set(row, { label: row, seats: [] });
    section.rows.get(row).seats.push(i);
  }
  return [...sections.values()].map((section) => {
    const mean = (values) => section.seats.reduce((sum, i) => sum + values[i], 0) / section.seats.length;
    return { ...section, rows: [...section.rows.values()], cx: mean(g.x), cy: mean(g.y) };
  });
}
