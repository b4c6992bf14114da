// The panel in which a visitor says which seats to hold at the turn. The server keeps the wishes
// and tells how likely each is. This browser keeps them, too, and sends them again if the server
// has lost them.

import { $, announce, call, kept, make, mayPass, show, showProblem, t } from "./core.js";
import { loadStyle } from "./later-style.js";
import { oddsSaid } from "./lobby-view.js";
import { isRefusedForGood, plainWish, resendMs, takesWishes, wishesThatCount } from "./lobby-wish-plan.js";
import { detailsSaid, roomShows, wishSaid } from "./lobby-wish-words.js";

/**
 * The time (`performance.now()`) from which wishes that the server does not know may be sent again.
 */
let resendAt = 0;
/** How many times in a row the server refused them. */
let refusals = 0;
/**
 * The server's list that this browser stored last. Each list is stored only once, because another
 * tab may have stored newer wishes since.
 */
let listKept = null;
/** Whether the panel's styles have loaded or failed to load. The panel appears only after that. */
let isStyled = false;
let isFormOpen = false;
/** The room's shows, or null until they are known. */
let shows = null;
/** What the list shows, as JSON. */
let listed = "";

const keptName = (lobby) => `wish.${lobby.slug}`;

const wishesOfPlace = (lobby) => wishesThatCount(lobby.now.place, kept.get(keptName(lobby)));

/** Shows the wishes of the place in `lobby.now`. `lobby` is the argument of `wireParts`. */
export function renderWish(lobby) {
  const { room, place } = lobby.now;
  const isOpen = takesWishes(room, place);
  if (isOpen && !$("wish")) build(lobby);
  if (!isOpen && isFormOpen) closeForm();
  if (isOpen) renewKept(lobby);
  renderList(lobby, isOpen);
  const wishes = wishesOfPlace(lobby);
  const attempt = kept.get(`wish-try.${lobby.slug}`);
  const mayHold = (isOpen && wishes.length > 0) || (attempt && attempt.number === place?.number);
  if ($("wish-hold") || (mayHold && shows)) import("./lobby-wish-turn.js").then(({ renderTurn }) => renderTurn(lobby, shows, wishes)).catch(() => {});
  else if (mayHold) loadShows(lobby);
}

async function loadShows(lobby) {
  shows = (await roomShows(lobby.slug)) ?? [];
  renderWish(lobby);
}

function build(lobby) {
  const styled = () => {
    isStyled = true;
    renderWish(lobby);
  };
  loadStyle("wish", styled);
  $("place").after(
    make("section", { id: "wish", class: "panel", "aria-labelledby": "wish-title", hidden: true },
      make("h2", { id: "wish-title", text: t("lobby.wish.title") }),
      make("p", {}, `${t("lobby.wish.lead")} `, make("b", { text: t("lobby.wish.no_change") })),
      make("ol", { id: "wish-list", class: "wish-list" }),
      make("div", { id: "wish-edit" }),
      make("button", { id: "wish-open", class: "button plain", type: "button", onclick: () => openForm(lobby) })),
  );
  addEventListener("storage", ({ key }) => key === `fairgate.${keptName(lobby)}` && lobby.refresh());
}

function renderList(lobby, isOpen) {
  if (!$("wish")) return;
  const { place } = lobby.now;
  const wishes = isOpen ? wishesOfPlace(lobby) : [];
  show($("wish"), isOpen && isStyled && (shows !== null || !wishes.length));
  show($("wish-list"), wishes.length > 0 && !isFormOpen);
  show($("wish-open"), !isFormOpen);
  const wanted = JSON.stringify([wishes, place?.state, shows?.length]);
  if (wanted === listed) return;
  listed = wanted;
  $("wish-open").textContent = t(wishes.length ? "lobby.wish.change" : "lobby.wish.open");
  $("wish-list").replaceChildren(...wishes.map((wish) => wishItem(wish, place.state)));
}

function wishItem(wish, state) {
  const item = make("li", { "data-odds": wish.odds ?? "" }, make("b", { text: wishSaid(wish, shows ?? []) }));
  const details = detailsSaid(wish, shows ?? []);
  if (details) item.append(make("span", { class: "small", text: details }));
  const odds = oddsSaid(wish);
  // From the turn on, the odds are of no use.
  if (odds || state === "waiting") item.append(make("span", { class: "small muted", text: odds ? t("lobby.wish.odds", { odds }) : t("lobby.wish.odds_unknown") }));
  return item;
}

// --- The form ---

async function openForm(lobby) {
  const button = $("wish-open");
  button.disabled = true;
  const [list, { showForm }] = await Promise.all([roomShows(lobby.slug), import("./lobby-wish-form.js").catch(() => ({}))]);
  button.disabled = false;
  if (!list || !showForm) return showProblem({ code: "offline", status: 0 }, {}, [{ label: t("common.try_again"), run: () => openForm(lobby) }]);
  shows = list;
  if (!list.length) return showProblem({ code: "not_available", status: 422 });
  showProblem(null);
  isFormOpen = true;
  const close = () => {
    closeForm();
    renderWish(lobby);
    $("wish-open").focus();
  };
  showForm($("wish-edit"), { wishes: wishesOfPlace(lobby), shows: list, prices: lobby.now.room.prices }, { cancel: close, save: (wishes) => save(lobby, wishes, close) });
  renderWish(lobby);
}

function closeForm() {
  isFormOpen = false;
  $("wish-edit").replaceChildren();
}

/** Returns the server's answer to these wishes. Shows them if the server has taken them. */
async function send(lobby, wishes) {
  const { number } = lobby.now.place;
  const answer = await call("PUT", `${lobby.base}/place/wishes`, { body: wishes });
  if (answer.ok && lobby.now.place?.number === number) {
    if (wishes.length) kept.set(keptName(lobby), { number, wishes });
    else kept.remove(keptName(lobby));
    lobby.now.place.wishes = answer.body.wishes;
    // An answer about the place that arrives now may be older than this change, so the wishes are
    // not sent again at once.
    resendAt = performance.now() + resendMs(0);
  }
  return answer;
}

/** Sends the form's wishes, and calls `close` if the server has taken them. */
async function save(lobby, wishes, close) {
  const answer = await send(lobby, wishes);
  if (!answer.ok) {
    const { problem } = answer;
    showProblem(problem, {}, mayPass(problem) ? [{ label: t("common.try_again"), run: () => save(lobby, wishes, close) }] : []);
    if (!mayPass(problem)) lobby.refresh();
    return;
  }
  showProblem(null);
  close();
  announce(t(wishes.length ? "lobby.wish.saved" : "lobby.wish.removed"), true);
  lobby.refresh();
}

/**
 * Stores the server's wishes in this browser. If the server knows of none, sends it this browser's.
 */
function renewKept(lobby) {
  const { number, wishes } = lobby.now.place;
  if (wishes === null) return sendAgain(lobby);
  if (wishes === listKept) return;
  listKept = wishes;
  refusals = 0;
  const mine = kept.get(keptName(lobby));
  const told = wishes.map(plainWish);
  // Another tab or device has removed them.
  if (!told.length) forget(lobby, number);
  else if (mine?.number !== number || JSON.stringify(told) !== JSON.stringify(mine.wishes)) kept.set(keptName(lobby), { number, wishes: told });
}

async function sendAgain(lobby) {
  const { number } = lobby.now.place;
  const wishes = wishesOfPlace(lobby);
  if (!wishes.length || performance.now() < resendAt) return;
  resendAt = performance.now() + resendMs(0);
  const { ok, problem } = await send(lobby, wishes);
  refusals = ok ? 0 : refusals + 1;
  if (!ok && isRefusedForGood(problem)) forget(lobby, number);
  const wait = resendMs(refusals, problem?.retry_after_s);
  resendAt = performance.now() + wait;
  setTimeout(() => renderWish(lobby), wait + 100);
  renderWish(lobby);
}

function forget(lobby, number) {
  if (kept.get(keptName(lobby))?.number === number) kept.remove(keptName(lobby));
}
