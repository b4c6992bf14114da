// Brings a place to another device. One device makes a link with a code that counts once; the code
// stands in the link's fragment, which browsers do not send. The other device uses it at a tap.

import { $, announce, call, mayPass, put, show, showProblem, span, t, when } from "./core.js";

/** Returns the code in the address of this page, or null. */
function codeInAddress() {
  const code = new URLSearchParams(location.hash.slice(1)).get("move");
  return code && /^[\w-]{20,200}$/.test(code) ? code : null;
}

async function makeLink(base) {
  $("move-make").disabled = true;
  const answer = await call("POST", `${base}/place/move`);
  $("move-make").disabled = false;
  if (!answer.ok) return showProblem(answer.problem);
  const link = `${location.origin}${location.pathname}#move=${answer.body.code}`;
  $("move-link").value = link;
  put("move-until", t("lobby.move.until", { time: when(answer.body.expires_at) }));
  show($("move-made"));
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
      put("move-until", t("lobby.move.copied"));
    }
  } catch {
    // The visitor closed the dialog, or the browser forbids it. The link can be copied by hand.
  }
}

let isWired = false;

/**
 * Wires the box that makes a link, and offers the code of this page's address. May be called again.
 * `arrived(answer)` is called with the answer of the join that brought the place here. `hasPlace()`
 * tells whether this browser has a place already.
 */
export function wireMove({ base, hasPlace, arrived }) {
  if (!isWired) {
    isWired = true;
    $("move-make").addEventListener("click", () => makeLink(base));
    $("move-share").addEventListener("click", share);
    $("move-use").addEventListener("click", () => bringHere(base, arrived));
    $("move-make").disabled = false;
  }
  show($("move-here"), Boolean(codeInAddress()));
  show($("move-replaces"), hasPlace());
}

async function bringHere(base, arrived) {
  const code = codeInAddress();
  if (!code) return;
  $("move-use").disabled = true;
  const answer = await call("POST", `${base}/places`, { body: { move: code } });
  $("move-use").disabled = false;
  // The code may still count, so the offer stays.
  if (!answer.ok && (mayPass(answer.problem) || answer.problem.retry_after_s)) return showProblem(answer.problem, { retry: span(answer.problem.retry_after_s ?? 10) });
  // A code counts once, so it must not stay in the address.
  history.replaceState(null, "", location.pathname + location.search);
  show($("move-here"), false);
  if (!answer.ok) return showProblem(answer.problem);
  showProblem(null);
  arrived(answer.body);
}
