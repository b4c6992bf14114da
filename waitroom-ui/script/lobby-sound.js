// A short chime when the visitor's turn comes, if the visitor has switched it on. The browser makes
// the sound, so no sound file is downloaded.

import { $, kept, show } from "./core.js";

let context = null;

/**
 * Connects the switch, or hides it if the browser has no sound. Browsers allow sound only after a
 * click or touch. So the chime plays once when it is switched on. If it was on before, the first
 * click or touch on the page opens the audio.
 */
export function wireSound() {
  if (!globalThis.AudioContext) return show($("sound-line"), false);
  $("sound").checked = Boolean(kept.get("sound"));
  $("sound").addEventListener("change", () => {
    kept.set("sound", $("sound").checked);
    if ($("sound").checked) chime();
  });
  addEventListener("pointerdown", () => $("sound").checked && (context ??= new AudioContext()), { once: true });
}

export function chime() {
  if (!$("sound")?.checked) return;
  context ??= new AudioContext();
  // If the tones do not load, the page stays silent. It shows and announces the turn anyway.
  import("./lobby-chime.js").then(({ playChime }) => playChime(context)).catch(() => {});
}
