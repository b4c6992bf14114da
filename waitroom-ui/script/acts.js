// Decides which events on a page show that a person is there. Events that scripts make do not
// count. The page itself also moves the focus and the view, and what the browser then tells looks
// as if a person had done it.

/** The events to listen to. Screen readers press a button by a click alone. */
export const ACTS = ["click", "focusin", "input", "keydown", "pointercancel", "pointerdown", "scroll", "wheel"];

/** For how long after the page moved the focus or the view such events count as its own. */
const OWN_MOVE_MS = 1_500;

let movedAt = -Infinity;
let isNoting = false;

/** Notes from now on when the page itself moves the focus or the view. */
export function noteOwnMoves() {
  if (isNoting) return;
  isNoting = true;
  for (const [prototype, name] of [[HTMLElement.prototype, "focus"], [Element.prototype, "scrollIntoView"]]) {
    const move = prototype[name];
    prototype[name] = function (...given) {
      movedAt = performance.now();
      return move.apply(this, given);
    };
  }
}

/** The sizes that scrolled elements had at their last scroll. */
const sizes = new WeakMap();

/** Returns whether an event shows that a person is there. It is to be asked once for each event. */
export function isAct({ isTrusted, target, type }) {
  if (!isTrusted) return false;
  if (type === "scroll" && !isSameSize(target)) return false;
  return (type !== "scroll" && type !== "focusin") || performance.now() - movedAt > OWN_MOVE_MS;
}

/**
 * Returns whether what scrolls has the size of its last scroll. A page whose content changes
 * scrolls without anybody doing so, and then with another size.
 */
function isSameSize(target) {
  const box = target.documentElement ?? target;
  const size = [box.scrollWidth, box.scrollHeight, box.clientWidth, box.clientHeight].join();
  const isSame = sizes.get(box) === size;
  sizes.set(box, size);
  return isSame;
}
