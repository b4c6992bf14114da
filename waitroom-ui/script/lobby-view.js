// Shows a room and a place in the lobby, by changing the page that the server rendered.
// lobby-state.js decides on the state.

import { $, count, data, put, raw, show, span, t, when } from "./core.js";
import { showDrawCheck } from "./lobby-draw.js";
import { isNoneLeft, isTurn, lobbyState } from "./lobby-state.js";
import { basketWords, newlyGone, oddsWords, waitLeft } from "./lobby-words.js";

/** Shows `{room, place, line}` on the page and returns the state that it shows. */
export function render({ room, place, line, skewMs }) {
  const state = lobbyState(room, place, Date.now() + skewMs);
  if ($("place").dataset.state !== state) $("place").dataset.state = state;
  if (raw(`lobby.state.${state}`)) {
    put("state-title", t(`lobby.state.${state}.title`));
    put("state-body", t(`lobby.state.${state}.body`));
  }
  renderRoom(room, line, isNoneLeft(room, state));
  renderPlace(room, place, line);
  show($("join-form"), !place && ["prequeue", "drawing", "selling", "sold_out"].includes(room.phase));
  show($("turn-form"), isTurn(state));
  show($("go-seats"), state === "admitted");
  show($("to-home"), state === "closed");
  const isKept = Boolean(place) && state !== "closed";
  show($("move-box"), isKept);
  show($("leave-box"), isKept && state !== "done");
  const isBefore = room.phase === "scheduled" || room.phase === "prequeue";
  show($("calendar"), isBefore);
  // By itself, the countdown would hide up to half a second later. This would move the turn's
  // button, which a visitor may be about to press.
  if (!isBefore) show($("countdown"), false);
  renderPrices(room);
  show($("check-line"), Boolean(place));
  showDrawCheck(room, place);
  document.title = titleOf(room, place, state);
  return state;
}

function titleOf(room, place, state) {
  if (isTurn(state)) return t("lobby.title_turn", { title: room.title });
  if (state === "waiting_selling" && typeof place.ahead === "number") return t("lobby.title_ahead", { n: place.ahead, title: room.title });
  // While the sale is closed for a check, the state says more than the phase.
  const phase = $(room.closed_for_check ? "state-title" : "phase").textContent;
  return t("lobby.title_phase", { phase, title: room.title });
}

function renderRoom(room, line, noneLeft) {
  const chip = $("phase");
  if (chip.dataset.phase !== room.phase) {
    chip.dataset.phase = room.phase;
    chip.querySelector(".words").textContent = t(`lobby.phase.${room.phase}`);
  }
  show(chip, !room.closed_for_check);
  show($("paused"), Boolean(room.paused));
  show($("message"), Boolean(room.message));
  $("message").querySelector("span").textContent = room.message ?? "";
  show($("draw-held"), Boolean(room.draw_waits_until));
  put("joined", count(room.joined));
  put("waiting", count(room.waiting));
  put("pace", paceWords(room));
  if (room.phase === "closed") put("seats-left", "–");
  else if (room.seats) put("seats-left", t("lobby.seats_of", room.seats));
  const baskets = noneLeft ? t("lobby.none_left") : room.phase === "selling" ? basketsSaid(line?.seats ?? room.seats) : null;
  show($("baskets"), Boolean(baskets));
  put("baskets", baskets ?? "");
  for (const [id, value] of [["opens-at", room.opens_at], ["draw-at", room.draw_at], ["closes-at", room.closes_at], ["draw-held-until", room.draw_waits_until]]) {
    if ($(id) && value && $(id).dateTime !== value) {
      $(id).dateTime = value;
      put(id, when(value));
    }
  }
}

function paceWords(room) {
  if (!room.per_s || room.paused || room.phase !== "selling") return t("lobby.pace_none");
  return room.per_s >= 1 ? t("lobby.pace_value", { n: Math.round(room.per_s) }) : t("lobby.pace_minute", { n: Math.max(1, Math.round(room.per_s * 60)) });
}

/** The prices on the page, as JSON. The server has written the first ones into the page. */
let pricesShown = JSON.stringify(data.room.prices ?? []);

function renderPrices(room) {
  const prices = room.phase === "closed" ? [] : (room.prices ?? []);
  show($("prices"), prices.length > 0);
  const wanted = JSON.stringify(prices);
  if (wanted === pricesShown) return;
  pricesShown = wanted;
  import("./lobby-prices.js").then(({ writePrices }) => writePrices(prices)).catch(() => (pricesShown = ""));
}

/** Tells screen readers at once which categories of `after` have no free seats any more. */
export function tellGone(before, after) {
  const gone = newlyGone(before, after);
  if (gone.length) import("./lobby-prices.js").then(({ announceGone }) => announceGone(gone)).catch(() => {});
}

function renderPlace(room, place, line) {
  show($("facts-place"), Boolean(place));
  show($("figure"), place?.state === "waiting" && typeof place.ahead === "number" && room.phase !== "closed");
  if (!place) return;
  put("number", count(place.number));
  $("number").dataset.value = place.number ?? "";
  const ranked = typeof place.rank === "number";
  put("rank", ranked ? count(place.rank + 1) : t("lobby.after_draw"));
  $("rank").dataset.value = ranked ? place.rank : "";
  put("ahead", count(place.ahead ?? undefined));
  $("ahead").dataset.value = place.ahead ?? "";
  const bar = $("progress");
  show(bar, ranked && place.rank > 0 && typeof place.ahead === "number");
  if (!bar.hidden) {
    bar.max = place.rank;
    bar.value = Math.max(0, place.rank - place.ahead);
  }
  const moving = place.state === "waiting" && room.phase === "selling";
  show($("wait-tile"), moving);
  put("wait", waitWords(room, place, line));
  show($("odds-tile"), moving && typeof place.odds === "number");
  put("odds", oddsSaid(place) ?? "");
}

/** Returns the odds in words and percent, or null. */
export function oddsSaid(place) {
  const odds = oddsWords(place?.odds);
  return odds && t(`lobby.odds_words.${odds.key}`, { pct: odds.pct });
}

/** Returns a sentence about the seats in baskets, or null. */
export function basketsSaid(seats) {
  const baskets = basketWords(seats);
  return baskets && t(`lobby.baskets.${baskets.key}`, { n: baskets.n });
}

/** Returns the wait in words, or why it is not known. */
export function waitWords(room, place, line) {
  if (room.paused) return t("lobby.wait_pause");
  const left = waitLeft(line?.waits, place);
  return left ? t("lobby.wait_between", { p50: span(left.p50), p90: span(left.p90) }) : t("lobby.wait_unknown");
}
