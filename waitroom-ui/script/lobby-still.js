// Asks a visitor who is in and has the lobby open whether they are still there. Says to a visitor
// who waits again, or may go in again, why the last pass has ended.

import { $, announce, make, put, show, t } from "./core.js";
import { loadStyle } from "./later-style.js";
import { forgetPass, StillHere } from "./still-here.js";

let still = null;
let isStyled = false;
/** The newest `idle` frame. */
let newest = null;
/** Why the last pass has ended, as the page says it. */
let told = null;

/**
 * Takes the newest `idle` frame and the newest place. It is called after each change. `lobby` is
 * that of `wireParts`.
 */
export function renderStill(lobby) {
  const { idle, place } = lobby.now;
  lobby.now.idle = null;
  if (idle) hear(lobby, idle);
  const cause = ["waiting", "called"].includes(place?.state) ? place.pass_ended : null;
  if (cause) tellEnded(lobby, cause, place.state);
  else put("pass-ended", "");
  told = cause;
  show($("pass-ended"), Boolean(cause));
}

function hear(lobby, idle) {
  newest = idle;
  if (idle.ends_at) lobby.chime();
  if (isStyled) return still.heard(idle);
  if (still) return;
  still = new StillHere(lobby.slug, () => lobby.refresh());
  loadStyle("still", () => {
    isStyled = true;
    still.heard(newest);
  });
}

function tellEnded({ slug }, cause, state) {
  const isNew = cause !== told;
  if (isNew && still) still.forget();
  else if (isNew) forgetPass(slug);
  const why = t(`lobby.ended.${cause}`);
  const words = state === "waiting" ? `${why} ${t("lobby.ended_in_line")}` : why;
  if (!$("pass-ended")) $("state-body").after(make("p", { id: "pass-ended" }));
  if ($("pass-ended").textContent === words) return;
  $("pass-ended").textContent = words;
  if (isNew) announce(words, true);
}
