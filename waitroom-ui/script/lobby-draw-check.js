// Checks the draw: fetches the record, the proof of the visitor's number and the public keys. Shows
// for each step whether it passed, failed or could not be checked, and what the check proves.

import { $, announce, call, kept, loadLaterTexts, make, raw, show, showProblem, t } from "./core.js";
import { check, verdict } from "./draw-check.js";
import { loadStyle } from "./later-style.js";

const SENTENCES = { pass: "ok", partly: "partly", fail: "bad" };
const SHAPES = { pass: "check", fail: "cross", skip: "ring" };

let isStyled = false;

/** Checks the draw of `{room, place}` and shows the result. */
export async function checkDraw({ room, place }) {
  await new Promise((loaded) => (isStyled ? loaded() : loadStyle("draw", loaded)));
  isStyled = true;
  if (!(await loadLaterTexts())) return showProblem({ code: "offline", status: 0 });
  const result = $("draw-result");
  show(result);
  if (!globalThis.crypto?.subtle) return result.replaceChildren(make("p", { text: t("lobby.draw.insecure") }));
  const bar = make("progress", { max: "1", value: "0" });
  const line = make("p", { text: t("lobby.draw.checking", { pct: 0 }) });
  result.replaceChildren(line, bar);
  const progress = (part) => {
    bar.value = part;
    line.textContent = t("lobby.draw.checking", { pct: Math.round(part * 100) });
  };
  try {
    const base = `/v1/rooms/${encodeURIComponent(room.room)}/draw`;
    const [record, keys] = await Promise.all([call("GET", base), call("GET", "/.well-known/jwks.json")]);
    if (!record.ok) return fail(record.problem, result);
    if (!record.body.seed) return result.replaceChildren(make("p", { text: t("lobby.draw.wait") }));
    const late = place.number >= record.body.n;
    const proof = late ? null : await call("GET", `${base}/proof/${place.number}`);
    if (proof && !proof.ok) return fail(proof.problem, result);
    const own = kept.get(`room.${room.room}`) ?? {};
    const steps = await checkAside({ record: record.body, place, proof: proof?.body ?? null, own, jwks: keys.ok ? keys.body : null }, progress);
    result.replaceChildren(...told(steps, record.body, place));
  } catch {
    // The published record is not valid: a field is missing or is not hex.
    result.replaceChildren(make("p", { class: "verdict fault", text: t("lobby.draw.bad") }));
    result.dataset.verdict = "fail";
  }
}

/**
 * Checks in a worker, so that the page can react meanwhile. If the browser cannot start a worker,
 * checks in the page.
 */
function checkAside(given, progress) {
  const inPage = () => check(given, (part) => new Promise((go) => setTimeout(go, progress(part))));
  let worker;
  try {
    worker = new Worker(new URL("./draw-work.js", import.meta.url), { type: "module" });
  } catch {
    return inPage();
  }
  const steps = new Promise((done, failed) => {
    worker.addEventListener("message", ({ data }) => {
      if (data.part !== undefined) progress(data.part);
      else if (data.steps) done(data.steps);
      else failed(new Error("the record is not valid"));
    });
    worker.addEventListener("error", () => done(inPage()));
    // The second argument lists the objects to transfer. A worker's call names no target origin.
    worker.postMessage(given, []);
  });
  return steps.finally(() => worker.terminate());
}

function fail(problem, result) {
  show(result, false);
  showProblem(problem);
}

function told(steps, record, place) {
  const outcome = verdict(steps);
  $("draw-result").dataset.verdict = outcome;
  const values = { number: place.number, rank: place.rank + 1, expected: 0 };
  const items = steps.map(({ step, result, expected }) => {
    const skipped = result === "skip" && raw(`lobby.draw.skip_${step}`);
    const key = skipped ? `skip_${step}` : result === "fail" && step === "rank" ? "fail_rank" : `step_${step}`;
    const text = t(`lobby.draw.${key}`, { ...values, expected: (expected ?? 0) + 1 });
    return make("li", { "data-step": step, "data-result": result }, make("span", { class: "shape", "data-shape": SHAPES[result] }), make("span", {}, make("b", { text: `${t(`lobby.draw.${result}`)}: ` }), text));
  });
  announce(t(`lobby.draw.${SENTENCES[outcome]}`), true);
  const notes = [outcome === "fail" ? null : t("lobby.draw.proved"), record.beacon ? t("lobby.draw.beacon", { round: String(record.beacon_round) }) : t("lobby.draw.no_beacon"), t("lobby.draw.not_proved")];
  return [
    make("p", { class: outcome === "fail" ? "verdict fault" : "verdict", text: t(`lobby.draw.${SENTENCES[outcome]}`) }),
    make("ol", {}, ...items),
    make("ul", {}, ...notes.filter(Boolean).map((text) => make("li", { class: "small", text }))),
    make("dl", { class: "facts" }, make("div", {}, make("dt", { text: t("lobby.draw.n") }), make("dd", { text: String(record.n - (record.voids ?? 0)) })), make("div", {}, make("dt", { text: t("lobby.draw.root") }), make("dd", {}, make("code", { text: record.root })))),
  ];
}
