// Pointers, wheel and keys on the map. While the whole plan is shown, a finger's drag and the wheel
// scroll the page. Zoomed in, a drag moves the map and the wheel zooms it. Two fingers always zoom,
// and so does the wheel with Ctrl.

import { neighbour, seatAt } from "./geometry.js";

const TAP_PX = 6; // A pointer that moved less counts as a tap.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Passes the events of a canvas to a `SeatMap`. */
export function listen(canvas, map) {
  const pointers = new Map();
  const pointOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  canvas.addEventListener("wheel", (event) => {
    const zooms = event.ctrlKey || event.metaKey;
    if (!zooms && !map.isZoomed()) return;
    event.preventDefault();
    const { x, y } = pointOf(event);
    map.zoom(Math.exp(-event.deltaY * (zooms ? 0.01 : 0.0018)), x, y);
  }, { passive: false });
  // Without this, two fingers would scroll the page.
  canvas.addEventListener("touchstart", (event) => event.touches.length > 1 && event.cancelable && event.preventDefault(), { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { ...pointOf(event), moved: pointers.size ? Infinity : 0 });
  });
  canvas.addEventListener("pointermove", (event) => moved(canvas, map, pointers, event, pointOf(event)));
  canvas.addEventListener("pointerup", (event) => {
    const pointer = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    canvas.classList.remove("dragging");
    if (pointer && pointer.moved < TAP_PX) map.tap(pointOf(event), event.pointerType);
  });
  canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => map.on.point(-1));
  canvas.addEventListener("keydown", (event) => key(map, event));
  canvas.addEventListener("blur", () => map.setFocus(-1));
}

function moved(canvas, map, pointers, event, to) {
  const pointer = pointers.get(event.pointerId);
  if (!pointer) {
    const seat = map.under(to.x, to.y);
    canvas.classList.toggle("over-seat", seat >= 0);
    return map.on.point(seat, to.x, to.y);
  }
  const [dx, dy] = [to.x - pointer.x, to.y - pointer.y];
  if (pointers.size === 1) {
    pointer.moved += Math.hypot(dx, dy);
    if (pointer.moved >= TAP_PX && map.isZoomed()) {
      canvas.classList.add("dragging");
      map.on.point(-1);
      map.pan(dx, dy);
    }
  } else {
    pointer.moved = Infinity;
    const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
    const distanceBefore = Math.hypot(pointer.x - other.x, pointer.y - other.y) || 1;
    const distanceAfter = Math.hypot(to.x - other.x, to.y - other.y) || 1;
    map.zoom(distanceAfter / distanceBefore, (to.x + other.x) / 2, (to.y + other.y) / 2);
    map.pan(dx / 2, dy / 2);
  }
  [pointer.x, pointer.y] = [to.x, to.y];
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
  const nearest = seatAt(map.g, ...map.planAt(width / 2, height / 2), Infinity);
  return nearest >= 0 ? nearest : (map.g.sections[0]?.seats[0] ?? -1);
}
