// The page of a show: loads the plan once, follows the seats' states, and connects the map, the
// list, the choice of seats, the bar of the hold and the waitlist. Each of these has a file of its
// own.

import { $, announce, call, data, money, put, ready, show, showProblem, t, when } from "./core.js";
import { BLOCKED, FREE, STATE_NAMES } from "./frames.js";
import { indexOf, readGeometry, seatOf } from "./geometry.js";
import { holdOf } from "./holds.js";
import { decodeSeatMap } from "./seatmap-binary.js";
import { SeatMap } from "./seatmap.js";
import { Feed, snapshotOf } from "./seats-feed.js";
import { SeatFilter } from "./seats-filter.js";
import { HeldBar } from "./seats-held.js";
import { SeatList } from "./seats-list.js";
import { Picker } from "./seats-pick.js";
import { SeatTip } from "./seats-tip.js";
import { Waiting } from "./seats-wait.js";
import { seatName, seatPrice, seatTraits, sectionWords } from "./seats-words.js";

const doc = data.show;
const room = data.room?.room ?? data.room ?? doc.room;
// The show sells no more seats: the visitor's hold is shown, and nothing else can be chosen.
const over = doc.fate === "cancelled" || doc.sales_ended === true;
const lobby = `/r/${encodeURIComponent(room)}`;
const UNSHOWN_MAX = 4000; // If more seats have changed since the last frame, all are looked at.

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
  new SeatsPage(readGeometry(plan, doc.categories)).start(snapshot);
}

/** Returns the decoded plan, or null if it is damaged. */
function readPlan(bytes) {
  try {
    return decodeSeatMap(bytes);
  } catch {
    return null;
  }
}

/** The parts of the page, and what they tell each other. */
class SeatsPage {
  constructor(g) {
    this.g = g;
    this.states = new Uint8Array(g.count).fill(BLOCKED);
    this.heldOwn = [];
    this.everyMs = 0;
    this.fresh = "polling";
    this.tip = new SeatTip((i) => this.tipWords(i));
    this.map = this.makeMap();
    const listName = (i) => `${seatName(g, i)}${seatPrice(g, i) ? `, ${seatPrice(g, i)}` : ""}${seatTraits(g, i)}`;
    this.list = new SeatList($("seat-list"), g, { name: listName, toggle: (i) => this.pick(i) });
    this.picker = this.makePicker();
    this.bar = this.makeBar();
    this.waiting = this.makeWaiting();
    this.feed = this.makeFeed();
    new SeatFilter(g, (fits) => {
      this.map.setFilter(fits ?? (() => true));
      this.list.setFilter(fits);
    });
  }

  start(snapshot) {
    show($("pick"), !over);
    wireZoom(this.map);
    paintLegend(this.map);
    // For tests: a seat's state, and where it is in the window.
    window.fairgate = {
      stateOf: (label) => STATE_NAMES[this.states[indexOf(this.g, label)]],
      pointOf: (label) => this.map.windowPoint(indexOf(this.g, label)),
    };
    this.feed.start(snapshot);
    holdOf(doc.show, room).then((held) => {
      if (held) {
        show($("pick"), false);
        this.bar.take(held);
      }
      this.waiting.start();
    });
  }

  // --- The parts ---

  makeMap() {
    const on = {
      pick: (i) => this.pick(i),
      area: () => $("areas").scrollIntoView({ block: "center" }),
      point: (i, x, y, spoken) => this.tip.point(i, x, y, spoken),
      drawn: () => {
        show($("map-loading"), false);
        performance.mark("fairgate.map-drawn");
      },
    };
    const words = {
      area: (n) => t("seats.area_free", { n }),
      section: (section, free) => sectionWords(this.g, section, free),
      stage: () => t("seats.stage"),
    };
    return new SeatMap($("map"), this.g, on, words);
  }

  makePicker() {
    const page = { g: this.g, showDocument: doc, room: data.room, lobby, states: () => this.states, name: (i) => seatName(this.g, i) };
    return new Picker(page, {
      changed: () => this.mark("all"),
      held: (held) => this.take(held),
      found: (labels) => this.map.setFound(this.indicesOf(labels)),
      wait: (wish) => this.waiting.wish(wish),
    });
  }

  makeBar() {
    return new HeldBar(doc.show, room, {
      changed: (labels) => {
        this.heldOwn = this.indicesOf(labels);
        this.mark("all");
      },
      ended: () => {
        show($("pick"), !over);
        if (this.waiting.isWaiting()) this.waiting.look();
      },
      // A suggestion would make a new choice of seats instead of changing this hold, so it is left
      // out.
      refused: (problem) => this.picker.refused({ ...problem, suggestion: undefined }, () => showProblem(null)),
    });
  }

  makeWaiting() {
    const choices = [...$("best-category").options].map(({ value, text }) => ({ value, text }));
    const wants = (category) => (category ? { categories: [category] } : {});
    const page = { show: doc.show, title: doc.title, room: data.room, lobby, heldId: () => this.bar.hold?.hold, choices, wants };
    return new Waiting(page, { taken: (held) => this.take(held) });
  }

  makeFeed() {
    return new Feed(doc.show, room, this.g.count, {
      seats: (states, changed) => {
        this.states = states;
        this.picker.dropTaken(changed);
        this.showSoon(changed);
      },
      freshness: (status) => {
        this.fresh = status;
        this.tellFreshness();
      },
      // A busy server sends seats less often, and says how often.
      line: (frame) => {
        this.everyMs = frame.seats_every_ms;
        this.tellFreshness();
      },
      hold: (frame) => this.bar.signalled(frame),
      offer: (frame) => frame.show === doc.show && this.waiting.look(),
    });
  }

  // --- What happens ---

  pick(i) {
    const { bar } = this;
    if (bar.change) return this.states[i] === FREE || this.heldOwn.includes(i) ? bar.toggle(seatOf(this.g, i).label) : undefined;
    if (!bar.hold && !over) this.picker.toggle(i);
  }

  own() {
    return new Set([...this.heldOwn, ...this.picker.chosen]);
  }

  indicesOf(labels) {
    return labels.map((label) => indexOf(this.g, label)).filter((i) => i !== undefined);
  }

  /** Shows changed seats in the next frame, once for all changes until then. */
  showSoon(changed) {
    const before = this.unshown ?? [];
    const isMany = changed === "all" || before === "all" || before.length > UNSHOWN_MAX;
    this.unshown = isMany ? "all" : before.concat(changed);
    this.showing ||= requestAnimationFrame(() => {
      const { unshown } = this;
      this.unshown = null;
      this.showing = 0;
      $("map").dataset.version = String(this.feed.version);
      this.map.setStates(this.states, unshown);
      this.counts();
      this.mark(unshown);
    });
  }

  mark(changed) {
    const mine = this.own();
    this.map.setOwn(mine);
    this.list.update(this.states, mine, changed);
    this.tip.renew();
  }

  counts() {
    const [free, held, sold] = this.map.tally;
    if (over) return;
    put("counts", t("seats.free_count", { free, held, sold }));
    this.waiting.counted(free, held);
  }

  take(held) {
    show($("pick"), false);
    this.bar.take(held);
    this.map.showSeats(this.heldOwn);
    announce(t("seats.held_said", { n: held.seats.length }), true);
    $("held-title").focus({ preventScroll: true });
    $("held").scrollIntoView({ block: "nearest" });
  }

  tipWords(i) {
    const state = this.own().has(i) ? t("seats.mine") : t(`seats.${STATE_NAMES[this.states[i]]}`);
    return [seatName(this.g, i), seatPrice(this.g, i), state].filter(Boolean).join(" · ") + seatTraits(this.g, i);
  }

  tellFreshness() {
    const live = this.everyMs > 1000 ? t("seats.live_every", { seconds: this.everyMs / 1000 }) : t("seats.live");
    $("freshness").dataset.phase = { live: "selling", polling: "prequeue", offline: "closed" }[this.fresh];
    $("freshness").querySelector(".words").textContent = { live, polling: t("seats.polling"), offline: t("common.offline") }[this.fresh];
  }
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
