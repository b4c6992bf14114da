// Brings a place to another device. One device makes a link with a code that works once. The code
// is in the link's fragment, which browsers do not send. On the other device, the visitor presses a
// button to use the code.

import { $, announce, call, data, make, mayPass, put, show, showProblem, span, t } from "./core.js";
import { Countdown } from "./countdown.js";
import { noteLink } from "./lobby-shared.js";
import { skewOf } from "./skew.js";

/** Returns the code in the address of this page, or null. */
function codeInAddress() {
  const code = new URLSearchParams(location.hash.slice(1)).get("move");
  return code && /^[\w-]{20,200}$/.test(code) ? code : null;
}

let untilUsed = null;

async function makeLink(lobby) {
  $("move-make").disabled = true;
  const answer = await call("POST", `${lobby.base}/place/move`);
  $("move-make").disabled = false;
  if (!answer.ok) return showProblem(answer.problem);
  const link = `${location.origin}${location.pathname}#move=${answer.body.code}`;
  $("move-link").value = link;
  put("move-copied", "");
  show($("move-made"));
  untilUsed ??= new Countdown($("move-until"), () => show($("move-made"), false), (time) => t("lobby.move.until", { time }));
  untilUsed.start(answer.body.expires_at, skewOf(data.now));
  noteLink(lobby, answer.body.expires_at);
  show($("move-share"), Boolean(navigator.share || navigator.clipboard));
  $("move-link").select();
}

async function share() {
  const url = $("move-link").value;
  try {
    if (navigator.share) await navigator.share({ url });
    else {
      await navigator.clipboard.writeText(url);
      announce(t("lobby.move.copied"), true);
      put("move-copied", t("lobby.move.copied"));
    }
  } catch {
    // The visitor closed the dialog, or the browser forbids it. The link can be copied by hand.
  }
}

/** Makes the panel that offers to bring a place here, and the fields for a link. */
function build(lobby) {
  const { base, arrived } = lobby;
  $("place").before(
    make("section", { id: "move-here", class: "panel", "aria-labelledby": "move-here-title" },
      make("h2", { id: "move-here-title", text: t("lobby.move.here_title") }),
      make("p", {}, `${t("lobby.move.here_body")} `, make("span", { id: "move-replaces", text: t("lobby.move.replaces") })),
      make("button", { id: "move-use", class: "button big", type: "button", text: t("lobby.move.use"), onclick: () => bringHere(base, arrived) })),
  );
  $("move-box").append(
    make("div", { id: "move-made", hidden: true },
      make("label", {}, t("lobby.move.link"), make("input", { id: "move-link", readonly: true })),
      make("p", { class: "hint" }, make("span", { id: "move-until", role: "timer" }), " ", make("span", { id: "move-copied" })),
      make("button", { id: "move-share", class: "button plain", type: "button", text: t("lobby.move.share"), onclick: share })),
  );
  $("move-make").before(make("p", { text: t("lobby.move.explain") }));
  $("move-make").addEventListener("click", () => makeLink(lobby));
  $("move-make").disabled = false;
}

/**
 * Makes the box for a link work. Offers to use the code in this page's address, if there is one.
 * May be called again. `lobby` is the argument of `wireParts`.
 */
export function wireMove(lobby) {
  if (!$("move-here")) build(lobby);
  show($("move-here"), Boolean(codeInAddress()));
  show($("move-replaces"), Boolean(lobby.now.place));
}

async function bringHere(base, arrived) {
  const code = codeInAddress();
  if (!code) return;
  $("move-use").disabled = true;
  const answer = await call("POST", `${base}/places`, { body: { move: code } });
  $("move-use").disabled = false;
  // The code may still be valid, so the offer stays.
  if (!answer.ok && (mayPass(answer.problem) || answer.problem.retry_after_s)) return showProblem(answer.problem, { retry: span(answer.problem.retry_after_s ?? 10) });
  // A code works once, so it must not stay in the address.
  history.replaceState(null, "", location.pathname + location.search);
  show($("move-here"), false);
  if (!answer.ok) return showProblem(answer.problem);
  showProblem(null);
  arrived(answer.body);
}
