// The page of a departure: holds seats of a class between two of its stops, and ties the held bar to the form.

import { $, announce, data, mayPass, put, ready, show, showProblem, t } from "./core.js";
import { AT_THE_DOOR, atTheDoor } from "./entry.js";
import { holdOf, Intent, labelsOf } from "./holds.js";
import { journeyWords } from "./journey.js";
import { HeldBar } from "./seats-held.js";

const { show: doc, room, from, to, zone } = data;
const form = $("train-form");
const intent = new Intent();
const bar = new HeldBar(doc.show, room?.room, {
  changed() {
    show(form, !bar.hold);
    show($("stretch"), !bar.hold);
    show($("held-journey"), Boolean(bar.hold?.journey));
    if (bar.hold?.journey) put("held-journey", journeyWords(bar.hold.journey, bar.hold.time_zone ?? zone));
  },
  ended: () => form?.querySelector("button")?.focus({ preventScroll: true }),
  refused: (problem) => refused(problem),
});

async function hold(event) {
  event?.preventDefault();
  const quantity = Math.floor(Number($("travellers").value));
  const valid = quantity >= 1;
  $("travellers").setAttribute("aria-invalid", String(!valid));
  if (!valid) return $("travellers").focus();
  const kind = form.querySelector("input[name=class]:checked")?.value;
  if (!kind) return showProblem({ code: "capacity", status: 409 });
  $("hold").disabled = true;
  put("hold", t("seats.holding"));
  const ask = { from, to, best: { quantity, class: kind } };
  const answer = await atTheDoor(room, doc.title, () => intent.send("POST", `/v1/shows/${encodeURIComponent(doc.show)}/holds`, ask));
  $("hold").disabled = false;
  put("hold", t("train.hold"));
  if (!answer.ok) return refused(answer.problem);
  showProblem(null);
  bar.take({ ...answer.body, time_zone: zone });
  announce(t("seats.held_said", { n: answer.body.seats.length }), true);
  $("held-title").focus({ preventScroll: true });
  $("held").scrollIntoView({ block: "nearest" });
}

function refused(problem) {
  const actions = [];
  if (AT_THE_DOOR.includes(problem.code)) actions.push({ label: t("seats.to_lobby"), href: `/r/${encodeURIComponent(problem.room ?? room?.room ?? "everyday")}` });
  if (problem.code === "journey_held" && problem.hold) actions.push({ label: t("seats.to_checkout"), href: `/checkout/${encodeURIComponent(problem.hold)}` });
  if (problem.code === "departed") actions.push({ label: t("train.search"), href: "/rail" });
  if (mayPass(problem)) actions.push({ label: t("common.try_again"), run: () => hold() });
  showProblem(problem, { seats: labelsOf(problem.seats).join(", ") || "–" }, actions);
}

ready();
form?.addEventListener("submit", hold);
holdOf(doc.show, room?.room).then((held) => held && bar.take(held));
