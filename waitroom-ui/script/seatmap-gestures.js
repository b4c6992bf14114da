// Pointers, wheel and keys on the map. While the whole plan is shown, a finger's drag and the wheel
// scroll the page. Zoomed in, a drag moves the map and the wheel zooms it. Two fingers always zoom,
// and so does the wheel with Ctrl.

import { neighbour, seatAt } from "./geometry.js";

const TAP_PX = 6; // A pointer that moved less counts as a tap.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Passes the events of a canvas to a `SeatMap`. */
export function listen(canvas, map) {
  const pointers = new Map();
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  canvas.addEventListener("wheel", (event) => {
    const zooms = event.ctrlKey || event.metaKey;
    if (!zooms && !map.isZoomed()) return;
    event.preventDefault();
    const { x, y } = at(event);
    map.zoom(Math.exp(-event.deltaY * (zooms ? 0.01 : 0.0018)), x, y);
  }, { passive: false });
  // Without this, two fingers would scroll the page.
  canvas.addEventListener("touchstart", (event) => event.touches.length > 1 && event.cancelable && event.preventDefault(), { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { ...at(event), moved: pointers.size ? Infinity : 0 });
  });
  canvas.addEventListener("pointermove", (event) => moved(canvas, map, pointers, event, at(event)));
  canvas.addEventListener("pointerup", (event) => {
    const was = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    canvas.classList.remove("dragging");
    if (was && was.moved < TAP_PX) map.tap(at(event), event.pointerType);
  });
  canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => map.on.point(-1));
  canvas.addEventListener("keydown", (event) => key(map, event));
  canvas.addEventListener("blur", () => map.setFocus(-1));
}

function moved(canvas, map, pointers, event, to) {
  const was = pointers.get(event.pointerId);
  if (!was) {
    const seat = map.under(to.x, to.y);
    canvas.classList.toggle("over-seat", seat >= 0);
    return map.on.point(seat, to.x, to.y);
  }
  const [dx, dy] = [to.x - was.x, to.y - was.y];
  if (pointers.size === 1) {
    was.moved += Math.hypot(dx, dy);
    if (was.moved >= TAP_PX && map.isZoomed()) {
      canvas.classList.add("dragging");
      map.on.point(-1);
      map.pan(dx, dy);
    }
  } else {
    was.moved = Infinity;
    const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
    const before = Math.hypot(was.x - other.x, was.y - other.y) || 1;
    const after = Math.hypot(to.x - other.x, to.y - other.y) || 1;
    map.zoom(after / before, (to.x + other.x) / 2, (to.y + other.y) / 2);
    map.pan(dx / 2, dy / 2);
  }
  [was.x, was.y] = [to.x, to.y];
}

function key(map, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = ARROWS[event.key];
  const { focus } = map.marks;
  if (arrow) {
    const next = focus < 0 ? startSeat(map) : neighbour(map.g, focus, ...arrow);
    if (next >= 0) map.setFocus(next);
  } else if ((event.key === "Enter" || event.key === " ") && focus >= 0) map.on.pick(focus, true);
  else if (event.key === "+" || event.key === "=") map.zoomMiddle(1.5);
  else if (event.key === "-") map.zoomMiddle(1 / 1.5);
  else if (event.key === "0") map.fit();
  else return;
  event.preventDefault();
}

/** Returns the seat at which the keyboard begins: the one nearest to the middle of the map. */
function startSeat(map) {
  const { width, height } = map.size;
  const near = seatAt(map.g, ...map.planAt(width / 2, height / 2), Infinity);
  return near >= 0 ? near : (map.g.sections[0]?.seats[0] ?? -1);
}
