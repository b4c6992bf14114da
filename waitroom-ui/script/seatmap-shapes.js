// What is drawn around the seats of a train and of a cinema's hall: the carriages with their
// windows, doors and passages, and the walls with the screen. The plans of both contain only seats.
// This is pure code that needs no page.

const CORNER_STEPS = 4; // The number of lines in a round corner.
const NOSE_STEPS = 16;
const CARRIAGE_NAMES_PX = 8; // Buttons name the carriages, too, so the names may give way to seats.

/**
 * Returns the shapes of a train or a hall, as `{outlines, stage, under, over}`.
 *
 * `outlines` and `stage` have the form that plans have. `under` and `over` are painted below and
 * above the outlines. They are lists of `{points, fill, stroke?}`, with the names of colours. A
 * train also has `namesUpTo`: up to this distance between seats, in CSS pixels, its carriages are
 * named on the map.
 */
export function shapesOf(g, kind) {
  return kind === "train" ? trainOf(g) : hallOf(g);
}

/** Returns the shapes of a train, which lies along x. Sections are its carriages, from the left. */
function trainOf(g) {
  const wall = g.spacing * 0.24;
  const [top, bottom] = [Math.min(...g.sections.map(({ box }) => box.top)), Math.max(...g.sections.map(({ box }) => box.bottom))].map((y, k) => y + (k ? 1 : -1) * g.spacing * 1.5);
  const between = g.sections.slice(1).map(({ box }, k) => box.left - g.sections[k].box.right);
  const end = Math.min(g.spacing * 2, ...between.map((gap) => gap * 0.38));
  const nose = end * 2.6;
  const bodies = g.sections.map(({ box }) => ({ left: box.left - end, right: box.right + end, top, bottom }));
  const outlines = bodies.map((body, k) => ({ section: k, points: carriage(body, k === 0 ? nose : 0, k === bodies.length - 1 ? nose : 0, g.spacing * 0.5), pad: 0 }));
  const under = bodies.slice(1).map((body, k) => ({ points: rectangle(bodies[k].right - 1, (top + bottom) / 2 - g.spacing * 0.8, body.left + 1, (top + bottom) / 2 + g.spacing * 0.8), fill: "wall" }));
  const over = [];
  const onBothWalls = (left, right, fill) => {
    for (const y of [top, bottom]) over.push({ points: rectangle(left, y - wall, right, y + wall), fill });
  };
  for (const [k, { rows, box }] of g.sections.entries()) {
    const columns = rows.map(({ seats }) => g.x[seats[0]]);
    const half = Math.abs((columns[1] ?? columns[0] + g.spacing) - columns[0]) * 0.3;
    for (const x of columns) onBothWalls(x - half, x + half, "glass");
    // A door is at each end of a carriage.
    for (const [from, way] of [[box.left, -1], [box.right, 1]]) onBothWalls(...[from + way * end * 0.45, from + way * end * 0.9].sort((a, b) => a - b), "door");
    if (k === 0) over.push(windscreen(bodies[k].left, -nose, top, bottom));
    if (k === bodies.length - 1) over.push(windscreen(bodies[k].right, nose, top, bottom));
  }
  return { outlines, under, over, namesUpTo: CARRIAGE_NAMES_PX };
}

/**
 * Returns the outline of a carriage. `noseLeft` and `noseRight` are the lengths of its noses. A
 * length of 0 makes a flat end.
 */
function carriage({ left, right, top, bottom }, noseLeft, noseRight, r) {
  const [middle, half] = [(top + bottom) / 2, (bottom - top) / 2];
  const flatRight = [...arc(right - r, top + r, r, -90, 0), ...arc(right - r, bottom - r, r, 0, 90)];
  const flatLeft = [...arc(left + r, bottom - r, r, 90, 180), ...arc(left + r, top + r, r, 180, 270)];
  const rightEnd = noseRight ? noseCurve(right, noseRight, middle, half) : flatRight;
  const leftEnd = noseLeft ? noseCurve(left, -noseLeft, middle, half).toReversed() : flatLeft;
  return [...rightEnd, ...leftEnd];
}

/** Returns the curve of a train's end, from its upper corner around its tip to its lower corner. */
function noseCurve(x, length, middle, half) {
  return Array.from({ length: NOSE_STEPS + 1 }, (_, k) => {
    const angle = ((k / NOSE_STEPS) * 180 - 90) * (Math.PI / 180);
    return [x + length * Math.max(0, Math.cos(angle)) ** 0.8, middle + half * Math.sin(angle)];
  });
}

function windscreen(x, length, top, bottom) {
  const [middle, half] = [(top + bottom) / 2, ((bottom - top) / 2) * 0.62];
  const outer = noseCurve(x, length * 0.8, middle, half);
  const inner = noseCurve(x, length * 0.5, middle, half).toReversed();
  return { points: [...outer, ...inner], fill: "glass" };
}

/**
 * Returns the shapes of a hall. Its rows are one behind the other, and the first row is nearest to
 * the screen.
 */
function hallOf(g) {
  const rows = g.sections.flatMap((section) => section.rows);
  if (!rows.length) return { under: [], over: [] };
  const y = ({ seats }) => g.y[seats[0]];
  const forward = y(rows[0]) <= y(rows.at(-1)) ? -1 : 1;
  const { left, right, top, bottom } = g.bounds;
  const s = g.spacing;
  const front = forward < 0 ? top : bottom;
  const middle = (left + right) / 2;
  // A hall with few seats gets a screen that still looks like a screen.
  const half = Math.max(3 * s, (right - left) / 2);
  const [screenY, depth, bend] = [front + forward * 3.6 * s, 0.5 * s, Math.min(s, half * 0.08)];
  const edge = (at) => Array.from({ length: NOSE_STEPS + 1 }, (_, k) => {
    const across = (2 * k) / NOSE_STEPS - 1;
    return [middle + across * half * 0.92, at - forward * bend * across * across];
  });
  const points = [...edge(screenY), ...edge(screenY + forward * depth).toReversed()];
  const side = half + 2.2 * s;
  const ends = [screenY + forward * 1.6 * s, (forward < 0 ? bottom : top) - forward * 2.2 * s].sort((a, b) => a - b);
  const walls = roundedBox(middle - side, ends[0], middle + side, ends[1], s);
  return { stage: g.stage ?? { points }, under: [{ points: walls, fill: "venue", stroke: "wall" }], over: [] };
}

const rectangle = (left, top, right, bottom) => [[left, top], [right, top], [right, bottom], [left, bottom]];

const roundedBox = (left, top, right, bottom, r) => [...arc(right - r, top + r, r, -90, 0), ...arc(right - r, bottom - r, r, 0, 90), ...arc(left + r, bottom - r, r, 90, 180), ...arc(left + r, top + r, r, 180, 270)];

/** Returns points on an arc, in degrees clockwise from the right. */
function arc(x, y, r, from, to) {
  return Array.from({ length: CORNER_STEPS + 1 }, (_, k) => {
    const angle = (from + ((to - from) * k) / CORNER_STEPS) * (Math.PI / 180);
    return [x + r * Math.cos(angle), y + r * Math.sin(angle)];
  });
}
