// Shows the check of Turnstile or hCaptcha in the page. Its script and its fields come from the
// provider. They are loaded only on pages of rooms that ask for the check.

import { $, announce, loadLaterTexts, make, t } from "./core.js";

const LOADED_WITHIN_MS = 20_000;
/** Narrower windows have no room for hCaptcha's usual size. */
const NARROW_PX = 360;

/** Loads the provider's script once. Rejects if it is blocked or does not load in time. */
function load({ kind, script }) {
  return new Promise((resolve, reject) => {
    if (window[kind]) return resolve(window[kind]);
    const element = document.createElement("script");
    const timeout = setTimeout(reject, LOADED_WITHIN_MS);
    element.src = script;
    element.addEventListener("load", () => (clearTimeout(timeout), window[kind] ? resolve(window[kind]) : reject()));
    element.addEventListener("error", () => (clearTimeout(timeout), reject()));
    document.head.append(element);
  });
}

const sizeOf = (kind) => (kind === "turnstile" ? "flexible" : window.innerWidth < NARROW_PX ? "compact" : "normal");

/**
 * Shows the check of a `task`: `kind`, `site_key`, `cdata`, `script`. Returns the provider's
 * answer, or null if the check cannot be shown or fails.
 */
export async function passCheck(task) {
  await loadLaterTexts();
  const place = make("div");
  const box = make("section", { id: "check", class: "panel", "aria-labelledby": "check-title" }, make("h2", { id: "check-title", tabindex: "-1", text: t("common.check_title") }), make("p", { text: t("common.check_body") }), place);
  $("problem").after(box);
  announce(t("common.check_title"), true);
  $("check-title").focus();
  try {
    const api = await load(task);
    return await new Promise((solved) => {
      const failed = () => solved(null);
      api.render(place, { sitekey: task.site_key, cData: task.cdata, size: sizeOf(task.kind), theme: "auto", callback: solved, "error-callback": failed, "expired-callback": failed, "chalexpired-callback": failed });
    });
  } catch {
    return null;
  } finally {
    box.remove();
  }
}
