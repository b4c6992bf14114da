// The "Check the draw" button. The check itself is loaded when somebody presses it.

import { $, show, showProblem, t } from "./core.js";

/** Connects the button. `now()` returns the current `{room, place}`. */
export function wireDrawCheck(now) {
  $("check-draw")?.addEventListener("click", () => run(now()));
}

/** Shows the button if the visitor has a rank and the line is drawn. */
export function showDrawCheck(room, place) {
  if (!$("check-draw")) return;
  const done = typeof place?.rank === "number" && !["scheduled", "prequeue", "drawing"].includes(room.phase);
  show($("check-draw"), done);
  show($("draw-wait"), !done);
}

async function run(now) {
  $("check-draw").disabled = true;
  try {
    const { checkDraw } = await import("./lobby-draw-check.js");
    await checkDraw(now);
  } catch {
    // A browser may remember that a script did not load, so the page has to be loaded again.
    showProblem({ code: "unknown", status: 0 }, {}, [{ label: t("common.try_again"), href: location.href }]);
  } finally {
    $("check-draw").disabled = false;
  }
}
