// The countdown to the opening of the lobby and to the draw.

import { $, announce, put, show, t } from "./core.js";
import { countdownParts, countdownTarget } from "./lobby-words.js";

/** How many milliseconds before the end screen readers announce that the last minute begins. */
const LAST_MINUTE_MS = 60_000;
/**
 * Shows the countdown of `room()` and updates it twice a second. `serverMs()` returns the time by
 * the server's clock, because this device's clock may be wrong.
 */
export function startCountdown(room, serverMs) {
  let said = null;
  const tick = () => {
    const target = countdownTarget(room(), serverMs());
    show($("countdown"), Boolean(target));
    if (!target) return;
    const left = target.at - serverMs();
    const { days, clock } = countdownParts(left);
    put("countdown-what", t(`lobby.countdown.${target.what}`));
    put("countdown-left", days ? t("lobby.countdown.days", { n: days, clock }) : clock);
    if (left <= LAST_MINUTE_MS && said !== target.at) {
      said = target.at;
      announce(t(`lobby.countdown.say_${target.what}`), true);
    }
  };
  tick();
  setInterval(tick, 500);
}
