// The page of a show: loads the plan once, follows the seats' states, and connects the map, the
// list, the choice of seats, the bar of the hold and the waitlist. Each of these has a file of its
// own.

import { $, announce, call, data, money, put, ready, show, showProblem, t, when } from "./core.js";
import { FREE, STATE_NAMES } from "./frames.js";
import { indexOf, readGeometry, seatOf } from "./geometry.js";
import { holdOf } from "./holds.js";
import { decodeSeatMap } from "./seatmap-binary.js";
import { SeatMap } from "./seatmap.js";
import { Feed, snapshotOf } from "./seats-feed.js";
import { SeatFilter } from "./seats-filter.js";
import { HeldBar } from "./seats-held.js";
import { SeatList } from "./seats-list.js";
import { Picker } from "./seats-pick.js";
import { Waiting } from "./seats-wait.js";
import { seatName, seatPrice, seatTraits, sectionWords } from "./seats-words.js";

const doc = data.show;
const room = data.room?.room ?? data.room ?? doc.room;
// The show sells no more seats: the visitor's hold is shown, and nothing else can be chosen.
const over = doc.fate === "cancelled" || doc.sales_ended === true;
const lobby = `/r/${encodeURIComponent(room)}`;

async function start() {
  ready();
  put("sells-until", t("seats.sells_until", { time: when(doc.sells_until) }));
  if (doc.sales_ended && doc.fate !== "cancelled") put("fate", t("seats.sales_ended", { time: when(doc.sells_until) }));
  for (const price of document.querySelectorAll(".price")) price.textContent = money({ amount: Number(price.dataset.amount), currency: price.dataset.currency });
  const path = `/v1/shows/${encodeURIComponent(doc.show)}/seatmap`;
  const snapshot = snapshotOf(doc.show);
  const answer = await call("GET", path, { cache: "default", accept: "application/vnd.fairgate.seatmap", binary: true });
  const plan = answer.ok ? readPlan(answer.body) : null;
  if (!plan) {
    put("map-loading", t("seats.map_failed"));
    return showProblem(answer.problem ?? { code: "server", status: 500 }, {}, [{ label: t("common.try_again"), run: () => location.reload() }]);
  }
  run(readGeometry(plan, doc.categories), snapshot);
}

/** Returns the decoded plan, or null if it is damaged. */
function readPlan(bytes) {
  try {
    return decodeSeatMap(bytes);
  } catch {
    return null;
  }
}

function run(g, snapshot) {
  let states = new Uint8Array(g.count).fill(3);
  let heldOwn = [];
  let pointed = -1;
  const name = (i) => seatName(g, i);
  const price = (i) => seatPrice(g, i);
  const own = () => new Set([...heldOwn, ...picker.chosen]);

  const pick = (i) => {
    if (bar.change) return states[i] === FREE || heldOwn.includes(i) ? bar.toggle(seatOf(g, i).label) : undefined;
    if (!bar.hold && !over) picker.toggle(i);
  };
  const map = new SeatMap($("map"), g, {
    pick,
    area: () => $("areas").scrollIntoView({ block: "center" }),
    point: (i, x, y, spoken) => tip(i, x, y, spoken),
    drawn: () => {
      show($("map-loading"), false);
      performance.mark("fairgate.map-drawn");
    },
  }, { area: (n) => t("seats.area_free", { n }), section: (section, free) => sectionWords(g, section, free), stage: () => t("seats.stage") });
  const list = new SeatList($("seat-list"), g, { name: (i) => `${name(i)}${price(i) ? `, ${price(i)}` : ""}${seatTraits(g, i)}`, toggle: pick });
  new SeatFilter(g, (fits) => {
    map.setFilter(fits ?? (() => true));
    list.setFilter(fits);
  });
  const picker = new Picker({ g, showDocument: doc, room: data.room, lobby, states: () => states, name }, {
    changed: () => mark("all"),
    held: (held) => take(held),
    found: (labels) => map.setFound(indicesOf(labels)),
    wait: (wish) => waiting.wish(wish),
  });
  const bar = new HeldBar(doc.show, room, {
    changed(labels) {
      heldOwn = indicesOf(labels);
      mark("all");
    },
    ended: () => {
      show($("pick"), !over);
      if (waiting.isWaiting()) waiting.look();
    },
    // A suggestion would make a new choice of seats instead of changing this hold, so it is left
    // out.
    refused: (problem) => picker.refused({ ...problem, suggestion: undefined }, () => showProblem(null)),
  });
  const choices = [...$("best-category").options].map(({ value, text }) => ({ value, text }));
  const wants = (category) => (category ? { categories: [category] } : {});
  const waiting = new Waiting({ show: doc.show, title: doc.title, room: data.room, lobby, heldId: () => bar.hold?.hold, choices, wants }, { taken: (held) => take(held) });
  let everyMs = 0;
  let fresh = "polling";
  const tellFreshness = () => {
    const live = everyMs > 1000 ? t("seats.live_every", { seconds: everyMs / 1000 }) : t("seats.live");
    $("freshness").dataset.phase = { live: "selling", polling: "prequeue", offline: "closed" }[fresh];
    $("freshness").querySelector(".words").textContent = { live, polling: t("seats.polling"), offline: t("common.offline") }[fresh];
  };
  const feed = new Feed(doc.show, room, g.count, {
    seats(next, changed) {
      states = next;
      $("map").dataset.version = String(feed.version);
      map.setStates(states, changed);
      picker.dropTaken(changed);
      counts();
      mark(changed);
    },
    freshness(status) {
      fresh = status;
      tellFreshness();
    },
    // A busy server sends seats less often, and says how often.
    line(frame) {
      everyMs = frame.seats_every_ms;
      tellFreshness();
    },
    hold: (frame) => bar.signalled(frame),
    offer: (frame) => frame.show === doc.show && waiting.look(),
  });

  function indicesOf(labels) {
    return labels.map((label) => indexOf(g, label)).filter((i) => i !== undefined);
  }

  function mark(changed) {
    const mine = own();
    map.setOwn(mine);
    list.update(states, mine, changed);
    if (pointed >= 0) $("map-tip").textContent = tipWords(pointed);
  }

  function counts() {
    const n = map.tally;
    if (over) return;
    put("counts", t("seats.free_count", { free: n[0], held: n[1], sold: n[2] }));
    waiting.counted(n[0], n[1]);
  }

  function take(held) {
    show($("pick"), false);
    bar.take(held);
    map.showSeats(heldOwn);
    announce(t("seats.held_said", { n: held.seats.length }), true);
    $("held-title").focus({ preventScroll: true });
    $("held").scrollIntoView({ block: "nearest" });
  }

  function tipWords(i) {
    const state = own().has(i) ? t("seats.mine") : t(`seats.${STATE_NAMES[states[i]]}`);
    return [name(i), price(i), state].filter(Boolean).join(" · ") + seatTraits(g, i);
  }

  function tip(i, x, y, spoken) {
    const at = $("map-tip");
    pointed = i;
    show(at, i >= 0);
    if (i < 0) return;
    at.textContent = tipWords(i);
    const frame = $("map-frame");
    at.style.left = `${Math.max(6, Math.min(x + 12, frame.clientWidth - at.offsetWidth - 6))}px`;
    at.style.top = `${Math.max(6, y > at.offsetHeight + 24 ? y - at.offsetHeight - 12 : y + 18)}px`;
    if (spoken) announce(at.textContent, true);
  }

  show($("pick"), !over);
  wireZoom(map);
  paintLegend(map);
  // For tests: a seat's state, and where it is in the window.
  window.fairgate = {
    stateOf: (label) => STATE_NAMES[states[indexOf(g, label)]],
    pointOf: (label) => map.windowPoint(indexOf(g, label)),
  };
  feed.start(snapshot);
  holdOf(doc.show, room).then((held) => {
    if (held) {
      show($("pick"), false);
      bar.take(held);
    }
    waiting.start();
  });
}

function wireZoom(map) {
  $("zoom-in").addEventListener("click", () => map.zoomMiddle(1.6));
  $("zoom-out").addEventListener("click", () => map.zoomMiddle(1 / 1.6));
  $("zoom-all").addEventListener("click", () => map.fit());
}

/** Paints the legend's dots in the colours of the map, again when the theme changes. */
function paintLegend(map) {
  const paint = () => {
    for (const dot of document.querySelectorAll(".swatch [data-category]")) {
      const k = map.g.categories.findIndex(({ key }) => key === dot.dataset.category);
      if (k >= 0) dot.style.fill = map.scene.look.categories[k];
    }
  };
  paint();
  map.on.recoloured = paint;
}

start();
