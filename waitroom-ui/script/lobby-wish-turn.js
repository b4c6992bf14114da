// At the turn, one button claims the pass and holds the best seats for the first wish that can be
// met. The other button only claims the pass, so that the visitor can choose seats.

import { $, announce, kept, make, randomHex, show, showProblem, span, t } from "./core.js";
import { isTurn, lobbyState } from "./lobby-state.js";
import { holdWished } from "./lobby-wish-hold.js";
import { plainWish, triesOf, triesWorthMaking } from "./lobby-wish-plan.js";
import { roomShows, wishSaid } from "./lobby-wish-words.js";

let isRunning = false;
/** The words of the other button when there are no wishes, as HTML. */
let plainWords = null;
/** Whether the first button was already shown at this turn, so that it is announced only once. */
let isTold = false;

/** The wishes that the button was shown for at this turn. */
let wished = [];

/** The attempt as this page knows it, in case the browser stores nothing. */
let ownAttempt = null;

/**
 * An attempt is `{ number, wishes, key, tries }`. `tries` is missing until the tries are known. An
 * attempt is kept from the tap until its outcome is known. So a second tap sends the same calls
 * with the same keys, even after a reload or in another tab.
 */
const keptName = (lobby) => `wish-try.${lobby.slug}`;

function keepAttempt(lobby, attempt) {
  ownAttempt = attempt;
  if (attempt) kept.set(keptName(lobby), attempt);
  else kept.remove(keptName(lobby));
}

/** Returns the attempt of this place whose outcome is not known yet, or null. */
function openAttempt(lobby) {
  const attempt = kept.get(keptName(lobby)) ?? ownAttempt;
  return attempt && attempt.number === lobby.now.place?.number ? attempt : null;
}

/**
 * Shows the button for these wishes at the turn, and while the outcome of an attempt is unknown.
 */
export function renderTurn(lobby, shows, itsWishes) {
  const { room, place } = lobby.now;
  if (isRunning) return;
  wished = itsWishes;
  const isCalled = isTurn(lobbyState(room, place, Date.now() + lobby.now.skewMs));
  const attempt = place?.state === "admitted" ? openAttempt(lobby) : null;
  const wishes = (isCalled ? wished : attempt?.wishes) ?? [];
  if (!$("wish-hold")) {
    if (!wishes.length) return;
    $("turn-form").before(make("button", { id: "wish-hold", class: "button big go", type: "button", onclick: () => hold(lobby) }));
  }
  const button = $("wish-hold");
  show(button, wishes.length > 0);
  if (wishes.length) {
    const words = t("lobby.wish.hold", { seats: wishSaid(wishes[0], shows ?? []) });
    if (button.textContent !== words) button.replaceChildren(make("span", { class: "shape", "data-shape": "go" }), words);
    if (isCalled && !isTold) announce(t("lobby.wish.say_turn", { button: words }), true);
  }
  isTold = isCalled && wishes.length > 0;
  makeSecond($("turn"), isTold);
}

/** Shows the button that only claims the pass as the second choice, or as the first one again. */
function makeSecond(button, isSecond) {
  if (button.disabled || button.classList.contains("plain") === isSecond) return;
  plainWords ??= button.innerHTML;
  button.classList.toggle("plain", isSecond);
  button.classList.toggle("go", !isSecond);
  if (isSecond) button.replaceChildren(t("lobby.wish.yourself"));
  else button.innerHTML = plainWords;
}

/** Claims the pass, holds the seats and opens the page where they are paid for. */
async function hold(lobby) {
  if (isRunning) return;
  isRunning = true;
  try {
    await claimAndHold(lobby, $("wish-hold"));
  } finally {
    isRunning = false;
    lobby.update({});
  }
}

async function claimAndHold(lobby, button) {
  const { place } = lobby.now;
  const isCalled = place?.state === "called";
  const known = openAttempt(lobby);
  const wishes = isCalled ? wished.map(plainWish) : known?.wishes;
  if (!wishes?.length) return;
  const isRepeated = JSON.stringify(known?.wishes) === JSON.stringify(wishes);
  const attempt = isRepeated ? known : { number: place.number, wishes, key: randomHex(16) };
  keepAttempt(lobby, attempt);
  if (isCalled && !(await lobby.claim(button, () => hold(lobby)))) {
    if (!isRepeated) keepAttempt(lobby, null);
    return;
  }
  button.disabled = true;
  button.replaceChildren(t("lobby.wish.holding"));
  const shows = await roomShows(lobby.slug);
  const outcome = shows ? await holdTried(lobby, shows, { attempt, isRepeated }) : { problem: { code: "offline", status: 0 } };
  button.disabled = false;
  if (outcome.hold || outcome.isOver) keepAttempt(lobby, null);
  lobby.update({ place: { ...lobby.now.place, state: "admitted" } });
  if (outcome.hold) return location.assign(`/checkout/${encodeURIComponent(outcome.hold)}`);
  const { problem, isOver, tries } = outcome;
  const again = { label: t("common.try_again"), run: () => hold(lobby) };
  showProblem(problem, { retry: span(problem.retry_after_s ?? 10) }, isOver ? seatsLinks(tries, shows) : [again]);
}

/** Returns the outcome of `holdWished`, with the `tries` that were made. */
async function holdTried(lobby, shows, { attempt, isRepeated }) {
  const { number, wishes, key, tries } = planned(lobby, shows, attempt);
  const outcome = await holdWished(lobby.slug, tries, { key, isRepeated });
  if (outcome.isStale) return holdTried(lobby, shows, { attempt: { number, wishes, key: randomHex(16) }, isRepeated: false });
  return { ...outcome, tries };
}

/**
 * Returns the attempt with its tries. A repeated attempt keeps its tries, although other seats may
 * be free by now: one of the tries may have held seats, and its answer may have been lost.
 */
function planned(lobby, shows, attempt) {
  const known = openAttempt(lobby); // Another tab may have made the same attempt meanwhile.
  const tries = attempt.tries ?? (known?.key === attempt.key ? known.tries : null) ?? triesWorthMaking(triesOf(attempt.wishes, shows), shows, lobby.now.room.prices);
  const whole = { ...attempt, tries };
  keepAttempt(lobby, whole);
  return whole;
}

/** Returns links to the seats of the shows that were tried. */
function seatsLinks(tries, shows) {
  const tried = shows.filter(({ show: slug }) => tries.some((one) => one.show === slug)).slice(0, 3);
  return tried.map(({ show: slug, title }) => ({ href: `/s/${encodeURIComponent(slug)}`, label: tried.length > 1 ? t("lobby.go_seats_for", { title }) : t("lobby.go_seats") }));
}
