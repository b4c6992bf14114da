// A seat map with its list, its tip and its feed: the parts that the pages of a show and of a train
// have in common. It follows the states of the seats and shows them. The page itself keeps what is
// picked and held.

import { $, call, put, show, showProblem, t } from "./core.js";
import { BLOCKED, FREE, STATE_NAMES } from "./frames.js";
import { indexOf, readGeometry, seatOf } from "./geometry.js";
import { decodeSeatMap } from "./seatmap-binary.js";
import { SeatMap } from "./seatmap.js";
import { Feed, snapshotOf } from "./seats-feed.js";
import { SeatList } from "./seats-list.js";
import { SeatTip } from "./seats-tip.js";
import { seatPrice, seatTraits, sectionWords } from "./seats-words.js";

const UNSHOWN_MAX = 4000; // If more seats have changed since the last frame, all are looked at.

/**
 * Loads a show's plan and the states of its seats. Returns `{plan, snapshot}`, or null after it has
 * shown why there is no map.
 */
export async function loadPlan(slug) {
  const path = `/v1/shows/${encodeURIComponent(slug)}/seatmap`;
  const snapshot = snapshotOf(slug);
  const answer = await call("GET", path, { cache: "default", accept: "application/vnd.fairgate.seatmap", binary: true });
  const plan = answer.ok ? readPlan(answer.body) : null;
  if (plan) return { plan, snapshot };
  put("map-loading", t("seats.map_failed"));
  showProblem(answer.problem ?? { code: "server", status: 500 }, {}, [{ label: t("common.try_again"), run: () => location.reload() }]);
  return null;
}

/** Returns the decoded plan, or null if it is damaged. */
function readPlan(bytes) {
  try {
    return decodeSeatMap(bytes);
  } catch {
    return null;
  }
}

export class LiveSeatMap {
  /**
   * `show`: {slug, room, plan, categories, kind, legs, name(g, index)}, where `kind` and
   * `legs` are those of `readGeometry` and `Feed`. `on`: `pick(index)`, `own()` returns the indices
   * of the visitor's seats, `changed(indices)` after each change of states, `counted(free, held,
   * sold)`, `area()`, the socket's frames `hold(frame)` and `offer(frame)`, `news`, the `RoomNews`
   * of the page, and `still`, its `StillHere`.
   */
  constructor({ slug, room, plan, categories, kind, legs, name }, on) {
    const g = readGeometry(plan, categories, kind);
    this.g = g;
    this.on = on;
    this.name = (i) => name(g, i);
    this.states = new Uint8Array(g.count).fill(BLOCKED);
    this.everyMs = 0;
    this.fresh = "polling";
    this.tip = new SeatTip((i) => this.tipWords(i));
    this.map = this.makeMap(kind);
    this.list = new SeatList($("seat-list"), g, { name: (i) => this.listName(i), toggle: (i) => on.pick(i) });
    this.feed = this.makeFeed(slug, room, legs);
    wireZoom(this.map);
    paintLegend(this.map);
    // For tests: a seat's state, and where it is in the window.
    window.fairgate = {
      stateOf: (label) => STATE_NAMES[this.states[indexOf(g, label)]],
      pointOf: (label) => this.map.windowPoint(indexOf(g, label)),
    };
  }

  start(snapshot) {
    return this.feed.start(snapshot);
  }

  makeMap(kind) {
    const on = {
      pick: (i) => this.on.pick(i),
      area: () => this.on.area(),
      point: (i, x, y, spoken) => this.tip.point(i, x, y, spoken),
      drawn: () => {
        show($("map-loading"), false);
        performance.mark("fairgate.map-drawn");
      },
    };
    const words = {
      area: (n) => t("seats.area_free", { n }),
      section: (section, free) => sectionWords(this.g, section, free),
      stage: () => t(kind === "hall" ? "seats.screen" : "seats.stage"),
    };
    return new SeatMap($("map"), this.g, on, words);
  }

  makeFeed(slug, room, legs) {
    const on = {
      seats: (states, changed) => {
        this.states = states;
        this.on.changed(changed);
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
      hold: (frame) => this.on.hold(frame),
      offer: (frame) => this.on.offer(frame),
      room: (document) => this.on.news.room(document),
      closed: (frame) => this.on.news.closed(frame),
      idle: (frame) => this.on.still.heard(frame),
      pass_ended: (frame) => this.on.still.heard(frame),
      place: (isSocketEnded) => this.on.news.lookAtPlace(isSocketEnded),
    };
    return new Feed(slug, room, this.g.count, on, legs);
  }

  isFree(i) {
    return this.states[i] === FREE;
  }

  indicesOf(labels) {
    return labels.map((label) => indexOf(this.g, label)).filter((i) => i !== undefined);
  }

  labelOf(i) {
    return seatOf(this.g, i).label;
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
      this.on.counted(...this.map.tally);
      this.mark(unshown);
    });
  }

  /** Shows the visitor's own seats on the map, and updates the changed seats in the list. */
  mark(changed) {
    const mine = this.on.own();
    this.map.setOwn(mine);
    this.list.update(this.states, mine, changed);
    this.tip.renew();
  }

  setFilter(fits) {
    this.map.setFilter(fits ?? (() => true));
    this.list.setFilter(fits);
  }

  // --- Words ---

  listName(i) {
    const price = seatPrice(this.g, i);
    return `${this.name(i)}${price ? `, ${price}` : ""}${seatTraits(this.g, i)}`;
  }

  tipWords(i) {
    const state = this.on.own().has(i) ? t("seats.mine") : t(`seats.${STATE_NAMES[this.states[i]]}`);
    return [this.name(i), seatPrice(this.g, i), state].filter(Boolean).join(" · ") + seatTraits(this.g, i);
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

/** Paints the legend's dots in the colours of the map, now and whenever the theme changes. */
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
