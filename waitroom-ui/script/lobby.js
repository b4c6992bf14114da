// The waiting room: joins, follows the line by the live socket or by polling, and claims the pass
// when the visitor's turn has come.

import { $, announce, call, data, kept, loadLaterTexts, mayPass, problemShown, put, randomHex, raw, ready, show, showProblem, span, t, when } from "./core.js";
import { Live } from "./live.js";
import { wireDrawCheck } from "./lobby-draw.js";
import { chime, wireSound } from "./lobby-sound.js";
import { startCountdown } from "./lobby-countdown.js";
import { wireParts } from "./lobby-parts.js";
import { aheadOf, drawn, isNoneLeft, isTurn, roomFetchMs } from "./lobby-state.js";
import { render, tellGone, waitWords } from "./lobby-view.js";
import { placesGiven, withSeatsLeft } from "./lobby-words.js";
import { skewOf } from "./skew.js";

/** The problem of a browser that keeps no cookies, and so no place. */
const COOKIES_BLOCKED = { code: "cookies_blocked", status: 403 };

const slug = data.room.room;
const base = `/v1/rooms/${encodeURIComponent(slug)}`;
/** How many milliseconds this device's clock is behind the server's. */
const skewMs = skewOf(data.now);
const now = { room: data.room, place: data.place ?? null, line: null, placeAt: performance.now(), skewMs };
let shown = $("place").dataset.state;

const own = () => kept.get(`room.${slug}`) ?? {};
const remember = (more) => kept.set(`room.${slug}`, { ...own(), ...more });

// --- Frames and answers of the server ---

/** Whether the page has all texts. Those for visitors with a place come when somebody has one. */
let hasAllTexts = false;

/** Loads the other texts, and then shows the page with them. */
async function loadRest() {
  if (!(await loadLaterTexts()) || hasAllTexts) return;
  hasAllTexts = true;
  update({});
}

function update(change) {
  if (change.place) change.placeAt = performance.now();
  Object.assign(now, change);
  const state = render(now);
  renderParts();
  if (!hasAllTexts && (now.place || !raw(`lobby.state.${state}`))) return void loadRest();
  tellNews(state);
  if (state === shown) return;
  const before = shown;
  shown = state;
  if (isTurn(state) && !isTurn(before)) {
    announce(t("lobby.say_turn"), true);
    chime();
  } else if (before === "waiting_sold_out" && state === "waiting_selling") {
    announce(t("lobby.say_back"), true);
  } else {
    announce(t(`lobby.state.${state}.title`), URGENT.includes(state) || URGENT.includes(before));
  }
  if (["not_called", "not_open", "offline", "server"].includes(problemShown())) showProblem(null);
}

const newsOf = ({ room, place }, state) => ({ message: room.message, isPaused: Boolean(room.paused), rank: place?.rank, noneLeft: isNoneLeft(room, state) });
/** The news that was told, or that the page began with. */
let told = newsOf(now, shown);

/** Announces at once a message, the rank of the draw, a pause, and that no seats are left. */
function tellNews(state) {
  const { message, isPaused, rank, noneLeft } = told;
  told = newsOf(now, state);
  if (told.noneLeft && !noneLeft) announce(t("lobby.none_left"), true);
  if (told.message && told.message !== message) announce($("message").textContent, true);
  if (typeof told.rank === "number" && typeof rank !== "number" && drawn(now.room)) announce(rankWords(now.place), true);
  // Where the state itself changes with the pause, its own words are announced.
  if (told.isPaused !== isPaused && state === shown) announce(told.isPaused ? $("paused").textContent : t("lobby.say_moving"), true);
}

/** The states whose beginning and end screen readers announce at once. */
const URGENT = ["closed", "place_check", "waiting_drawing", "waiting_sold_out", "waiting_paused", "called_paused"];

/** Returns the rank that the draw gave in words, for screen readers. */
const rankWords = ({ rank, ahead }) => [t("lobby.say_rank", { rank: rank + 1 }), typeof ahead === "number" && t("lobby.say_ahead", { n: ahead })].filter(Boolean).join(" ");

/** Returns how many people the server counted ahead, and among how many ranks, for `aheadOf`. */
const countAhead = ({ turn, ahead }) => ({ ahead, gap: typeof turn === "number" ? turn - (now.room.released ?? 0) : null });

const frames = {
  /** The frame has the whole room, as the page's data and the answer about the room have it. */
  room(room) {
    tellGone(now.room.prices, room.prices);
    update({ room });
  },
  line({ joined, released, per_s, waiting, seats, left, waits, at }) {
    const place = now.place && { ...now.place };
    if (place?.state === "waiting") place.ahead = aheadOf(place.turn, released, place.told) ?? place.ahead;
    const placeAt = now.placeAt;
    const given = placesGiven(now.room, { joined, released, waiting });
    update({ room: { ...now.room, joined: given, released, per_s, waiting, seats: seats ?? now.room.seats, prices: withSeatsLeft(now.room.prices, left) }, line: { seats, waits, at }, place });
    now.placeAt = placeAt; // The odds came with the place, not with this frame.
    if (place?.state === "waiting") {
      // If the counter has passed this turn, the `turn` frame was missed, so the place is fetched
      // soon. Otherwise it is fetched when the odds get old.
      const patience = place.turn < released ? MISSED_MS : ASK_AFTER_MS;
      if (performance.now() - Math.max(placeAt, askedAt) > patience) refreshPlace();
    }
  },
  place({ number, rank, turn, ahead }) {
    update({ place: { state: "waiting", ...now.place, number, rank, turn, ahead, told: countAhead({ turn, ahead }) } });
    if (typeof rank === "number" && !(now.place.state === "waiting" && now.place.wait?.known)) refreshPlace();
  },
  turn({ claim_before }) {
    turns += 1;
    if (now.place?.state === "waiting") update({ place: { ...now.place, state: "called", claim_before } });
    else refreshPlace();
  },
  idle: (frame) => update({ idle: frame }),
  pass_ended: () => refreshPlace(),
  draw(record) {
    if (record.root && !own().root && !record.seed) remember({ root: record.root });
  },
  closed({ reason }) {
    // The other reasons are phases.
    if (reason === "revoked") refreshPlace();
    else update({ room: { ...now.room, phase: reason } });
  },
};

async function refreshRoom() {
  const answer = await call("GET", base, { cache: "default" });
  if (answer.ok) update({ room: answer.body });
  return answer;
}

/**
 * Only an answer about the place contains the odds. So each browser fetches the place again before
 * they are stale, at a random time.
 */
const ASK_AFTER_MS = 80_000 + 30_000 * Math.random();
let askedAt = 0;
const MISSED_MS = 3_000;
/**
 * The number of `turn` frames so far. An answer that was requested before such a frame may be older
 * than the frame.
 */
let turns = 0;

/** Fetches the place. Returns the seconds until it should be fetched again. */
async function refreshPlace() {
  askedAt = performance.now();
  const heard = turns;
  const answer = await call("GET", `${base}/place`);
  if (answer.ok && heard !== turns && answer.body.state === "waiting") return refreshPlace();
  if (answer.ok) {
    update({ place: { ...answer.body, wait_ahead: answer.body.ahead, told: countAhead(answer.body) } });
    return answer.body.refresh_s ?? 10;
  }
  const { code, note, status } = answer.problem;
  const isRevoked = code === "revoked";
  if (isRevoked || status === 401 || status === 410) {
    update({ place: null });
    live.stop();
    if (isRevoked || now.room.phase !== "closed") {
      if (code === "place_left") kept.remove(`room.${slug}`);
      showProblem(answer.problem, { note });
      watchWithoutPlace();
    }
  }
  return answer.problem.retry_after_s ?? 15;
}

const live = new Live(slug, {
  frame: (frame) => {
    if (problemShown() === "offline") showProblem(null);
    frames[frame.type]?.(frame);
  },
  open: () => refreshPlace(),
  poll: async () => {
    await refreshRoom();
    return refreshPlace();
  },
  status(status) {
    show($("live"));
    put("live", t(`lobby.live_${{ live: "on", polling: "poll", offline: "off" }[status]}`));
  },
});

/**
 * Without a place there is no socket. So the room is fetched repeatedly while the page is visible.
 */
let watching = 0;
function watchWithoutPlace() {
  clearTimeout(watching);
  if (now.place) return;
  const wait = roomFetchMs(now.room, Date.now() + skewMs, Math.random());
  watching = setTimeout(async () => {
    if (document.visibilityState === "visible") await refreshRoom();
    watchWithoutPlace();
  }, wait);
}

// --- Actions of the visitor ---

/**
 * Sends a call that the room may answer with a task. What solves the task is loaded when the room
 * asks for it. Without it, returns the room's answer.
 */
async function sendSolved(secret, send, begin) {
  const answer = await send();
  if (answer.problem?.code !== "challenge_failed") return answer;
  const solver = await import("./challenge.js").catch(() => null);
  return solver ? solver.withChallenge(base, secret, send, begin, answer) : answer;
}

/** Repeats a refused join or claim at the time that the server gave. */
let again = 0;
/** The secret that this page joins with. A browser that stores nothing has one place at most. */
const pageSecret = randomHex(32);
async function join(event) {
  event.preventDefault();
  clearTimeout(again);
  if (!navigator.cookieEnabled) return showProblem(COOKIES_BLOCKED);
  const code = $("code")?.value.trim();
  if ($("code") && !code) return $("code").focus();
  const secret = own().secret ?? pageSecret;
  busy($("join"), t("lobby.joining"));
  remember({ secret, commitment: own().commitment ?? now.room.commitment });
  const send = (challenge) => call("POST", `${base}/places`, { body: { secret, ...(code ? { code } : {}), ...(challenge ? { challenge } : {}) } });
  const answer = await sendSolved(secret, send, solving($("join")));
  idle($("join"));
  // A browser that cannot solve the task waits instead. The submitted form starts this wait.
  if (answer.problem?.code === "challenge_failed") return $("join-form").submit();
  if (!answer.ok) return joinRefused(answer.problem);
  showProblem(null);
  await placeGiven(answer.body);
}

/** Shows the place from the answer to a join, and starts to follow the line. */
async function placeGiven({ number, phase }) {
  clearTimeout(watching);
  live.stop();
  remember({ joined: true });
  update({ place: { number, rank: null, ahead: null, state: "waiting" }, room: { ...now.room, phase: phase ?? now.room.phase } });
  await refreshPlace();
  // The browser said that it keeps cookies, and lost the place all the same.
  if (problemShown() === "place_required") return showProblem(COOKIES_BLOCKED);
  live.start();
  $("state-title").focus();
}

function joinRefused(problem) {
  const values = { note: problem.note, opens_at: when(problem.opens_at ?? now.room.opens_at), retry: span(problem.retry_after_s ?? 10) };
  const actions = mayPass(problem) ? [{ label: t("common.try_again"), run: () => $("join-form").requestSubmit() }] : [];
  showProblem(problem, values, actions);
  // The server gave this browser a time of its own, and accepts its join at that time.
  if (problem.code === "too_many_joins") again = setTimeout(() => $("join-form").requestSubmit(), 1000 * (problem.retry_after_s ?? 10));
  if (problem.code === "room_closed" || problem.code === "not_open") refreshRoom();
  if (["code_invalid", "code_used"].includes(problem.code)) $("code")?.setAttribute("aria-invalid", "true");
}

async function claimPass(event) {
  event.preventDefault();
  if (!(await claim($("turn"), () => $("turn-form").requestSubmit()))) return;
  update({ place: { ...now.place, state: "admitted" } });
  $("go-seats").querySelector("a")?.focus();
}

/**
 * Claims the pass. Meanwhile `button` shows that the call is running. Returns whether the visitor
 * has the pass now. If not, shows why. `repeat` does again what the visitor did.
 */
async function claim(button, repeat) {
  clearTimeout(again);
  busy(button, t("lobby.turn_working"));
  const send = (challenge) => call("POST", `${base}/pass`, challenge ? { body: { challenge } } : {});
  const answer = await sendSolved(undefined, send, solving(button));
  idle(button);
  if (answer.problem?.code === "challenge_failed") return $("turn-form").submit();
  if (answer.ok) {
    showProblem(null);
    // Other tabs see this change, and the page of the seats shows how long the pass is valid.
    remember({ claimed_at: Date.now(), pass_until: answer.body.expires_at });
    return true;
  }
  const { problem } = answer;
  // Perhaps there is no space at the moment. The page asks again when the server says.
  const again_s = problem.code === "not_called" && problem.retry_after_s;
  if (again_s) again = setTimeout(repeat, 1000 * again_s);
  showProblem(problem, { retry: span(problem.retry_after_s ?? 10), wait: waitWords(now.room, problem), note: problem.note }, mayPass(problem) ? [{ label: t("common.try_again"), run: repeat }] : []);
  if (problem.code === "room_closed") update({ room: { ...now.room, phase: "closed" } });
}

async function leave(event) {
  event.preventDefault();
  const answer = await call("DELETE", `${base}/place`);
  if (!answer.ok && answer.status !== 401 && answer.status !== 410) return showProblem(answer.problem);
  live.stop();
  kept.remove(`room.${slug}`);
  $("leave-box").open = false;
  show($("live"), false);
  showProblem(null);
  update({ place: null });
  announce(t("lobby.left"), true);
  put("state-body", t("lobby.left"));
  $("state-title").focus();
  watchWithoutPlace();
}

/** Follows what another tab of this browser did with the place. */
async function followOtherTab({ key, newValue }) {
  if (key !== `fairgate.room.${slug}`) return;
  if (newValue === null) {
    live.stop();
    update({ place: null });
    return watchWithoutPlace();
  }
  if (!own().joined) return;
  await refreshPlace();
  if (!now.place) return;
  clearTimeout(watching);
  live.start();
}

/** Offers the place that this browser had, unless it was given up, perhaps on another device. */
async function offerBack() {
  const { problem } = await call("GET", `${base}/place`);
  if (problem?.code === "place_left") {
    kept.remove(`room.${slug}`);
    showProblem(problem);
  } else if (own().secret) $("join").textContent = t("lobby.rejoin");
}

/** Returns a function that shows on a button that a task is being solved. */
const solving = (button) => (seconds) => busy(button, seconds ? t("lobby.solving", { about: span(seconds) }) : t("lobby.checking"));

/** Disables a button while its call runs and shows `words` on it. `idle` restores the button. */
function busy(button, words) {
  if (!button.disabled) button.dataset.words = button.innerHTML;
  button.disabled = true;
  button.replaceChildren(words);
}

function idle(button) {
  button.disabled = false;
  button.innerHTML = button.dataset.words;
}

// --- Start ---

ready();
$("join-form").addEventListener("submit", join);
$("turn-form").addEventListener("submit", claimPass);
$("leave-form").addEventListener("submit", leave);
$("code")?.addEventListener("input", () => $("code").removeAttribute("aria-invalid"));
addEventListener("storage", followOtherTab);
wireDrawCheck(() => now);
wireSound();
startCountdown(() => now.room, () => Date.now() + skewMs);
const renderParts = wireParts({
  base,
  slug,
  now,
  update,
  refresh: refreshPlace,
  claim,
  chime,
  arrived(answer) {
    // The place is bound to the secret of the other device, so this browser forgets its own.
    kept.set(`room.${slug}`, { arrived: true });
    return placeGiven(answer);
  },
});
if (!now.place && own().joined) offerBack();
if (!now.place && !own().commitment && now.room.commitment) remember({ commitment: now.room.commitment });
// The page's HTML has the words of a place. The script writes them again once it has all texts.
if (now.place) {
  loadRest().finally(() => {
    update({});
    live.start();
  });
} else {
  render(now);
  watchWithoutPlace();
}
