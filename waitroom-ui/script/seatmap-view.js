// Which part of the plan the map shows, as `{scale, x, y}`: a point of the plan is at `point ×
// scale + (x, y)` in CSS pixels of the map. This is pure code that needs no page.

const NEAREST_PX = 46; // The largest distance between two seats on the screen.

/**
 * Returns the view that shows a box of the plan with a margin, but no closer than the largest
 * scale.
 */
export function viewOf(box, { width, height }, spacing, margin = 22) {
  const [w, h] = [box.right - box.left + 2 * spacing, box.bottom - box.top + 2 * spacing];
  const scale = Math.min((width - 2 * margin) / w, (height - 2 * margin) / h, NEAREST_PX / spacing);
  return { scale, x: width / 2 - ((box.left + box.right) / 2) * scale, y: height / 2 - ((box.top + box.bottom) / 2) * scale };
}

/**
 * Returns the view that shows the whole plan. The seats of a small plan are not made larger than a
 * finger needs.
 */
export function wholeView(g, size) {
  const plates = g.areas.some(({ center }) => center);
  const view = viewOf(g.bounds, size, g.spacing, plates ? 76 : 22);
  return view.scale * g.spacing <= 30 ? view : scaledTo(view, 30 / g.spacing, size.width / 2, size.height / 2);
}

function scaledTo(view, scale, x, y) {
  const factor = scale / view.scale;
  return { scale, x: x - (x - view.x) * factor, y: y - (y - view.y) * factor };
}

/** Returns the view zoomed around a point of the map, no further out than the whole plan. */
export function zoomed(view, factor, x, y, least, spacing) {
  const mostScale = Math.max(least, NEAREST_PX / spacing);
  return scaledTo(view, Math.min(mostScale, Math.max(least, view.scale * factor)), x, y);
}

/** Returns the view moved back, if needed, so that the middle of the map stays over the plan. */
export function kept(view, bounds, { width, height }) {
  const clamped = (at, from, to, middle) => Math.min(middle - from * view.scale, Math.max(middle - to * view.scale, at));
  return { scale: view.scale, x: clamped(view.x, bounds.left, bounds.right, width / 2), y: clamped(view.y, bounds.top, bounds.bottom, height / 2) };
}

/**
 * Returns the view on the way from one to another. A `share` of 0 gives the first view, and 1 the
 * second.
 */
export function between(from, to, share, { width, height }) {
  const scale = from.scale * (to.scale / from.scale) ** share;
  // With this share, the plan moves past the middle at an even speed on the screen.
  const eased = from.scale === to.scale ? share : (1 / from.scale - 1 / scale) / (1 / from.scale - 1 / to.scale);
  const middle = (at, size) => (size / 2 - at.value) / at.scale;
  const along = (axis, size) => {
    const [a, b] = [middle({ value: from[axis], scale: from.scale }, size), middle({ value: to[axis], scale: to.scale }, size)];
    return size / 2 - (a + (b - a) * eased) * scale;
  };
  return { scale, x: along("x", width), y: along("y", height) };
}
