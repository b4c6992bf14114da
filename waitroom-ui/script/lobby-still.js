// Asks a visitor who is in and has the lobby open whether they are still there. Says why a visitor
// whose pass has ended waits again.

import { $, announce, make, show, t } from "./core.js";
import { loadStyle } from "./later-style.js";
import { forgetPass, StillHere } from "./still-here.js";

let still = null;
let isStyled = false;
/** The newest `idle` frame. */
let newest = null;
/** Why the visitor waits again, as the page says it. */
let told = null;

/**
 * Takes the newest `idle` frame and the newest place. It is called after each change. `lobby` is
 * that of `wireParts`.
 */
export function renderStill(lobby) {
  const { idle, place } = lobby.now;
  lobby.now.idle = null;
  if (idle) hear(lobby, idle);
  const cause = place?.state === "waiting" ? place.pass_ended : null;
  if (cause && cause !== told) tellEnded(lobby, cause);
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

function tellEnded({ slug }, cause) {
  if (still) still.forget();
  else forgetPass(slug);
  const words = t(`lobby.ended.${cause}`);
  if (!$("pass-ended")) $("state-body").after(make("p", { id: "pass-ended" }));
  if ($("pass-ended").textContent === words) return;
  $("pass-ended").textContent = words;
  announce(words, true);
}
