// What a page with seats says about its room: script/room-news.js.

import assert from "node:assert/strict";
import { test } from "node:test";

const elements = new Map();
const element = () => {
  const span = { textContent: "" };
  return { hidden: true, textContent: "", dataset: {}, childElementCount: 0, said: [], append(one) { this.said.push(one); }, querySelector: () => span, setAttribute() {}, removeAttribute() {}, replaceChildren() {}, focus() {}, scrollIntoView() {} };
};
Object.assign(globalThis, {
  document: {
    documentElement: { classList: { add() {} }, lang: "en" },
    getElementById: (id) => elements.get(id) ?? elements.set(id, element()).get(id),
    createElement: element,
  },
  matchMedia: () => ({ matches: true }),
});
globalThis.navigator ??= {};
let placeCode = null;
globalThis.fetch = async () => ({ ok: placeCode === null, status: placeCode === null ? 200 : 410, headers: new Map(), json: async () => ({ code: placeCode }) });
const { RoomNews } = await import("../script/room-news.js");

const at = (id) => document.getElementById(id);

/** Runs a test with the news of an open room. `changes` has what was told of `isOver`. */
function withNews(name, run) {
  test(name, () => {
    elements.clear();
    const changes = [];
    const news = new RoomNews({ room: "sale", phase: "selling", message: "" }, () => changes.push(news.isOver));
    return run(news, changes);
  });
}

withNews("a room that closes is said once, and may open again", (news, changes) => {
  for (const phase of ["sold_out", "closed", "closed"]) news.room({ phase });
  assert.deepEqual([changes, at("room-closed").hidden, at("say").said.length], [[true], false, 1]);
  news.room({ phase: "selling" });
  assert.deepEqual([changes, at("room-closed").hidden], [[true, false], true]);
});

withNews("a pause changes nothing, and a message is shown and said", (news, changes) => {
  news.room({ phase: "selling", paused: true, message: "Doors open late." });
  news.room({ phase: "selling", paused: true, message: "Doors open late." });
  assert.deepEqual([changes, at("message").hidden, at("message").querySelector("span").textContent, at("say").said.length], [[], false, "Doors open late.", 1]);
  news.room({ phase: "selling", message: "" });
  assert.equal(at("message").hidden, true);
});

withNews("a place that the promoter ended stays ended, and a sell-out ends nothing", (news, changes) => {
  news.closed({ reason: "sold_out" });
  assert.equal(news.isOver, false);
  news.closed({ reason: "revoked", note: "resold" });
  news.room({ phase: "selling" });
  assert.deepEqual([changes, news.isOver, at("problem").dataset.code], [[true], true, "revoked"]);
});

withNews("a place that was given up elsewhere is told once, and one that lives on is not", async (news, changes) => {
  for (placeCode of [null, "place_invalid"]) await news.lookAtPlace(true);
  assert.deepEqual(changes, []);
  placeCode = "place_left";
  await news.lookAtPlace();
  assert.deepEqual(changes, [], "a browser that had no place does not ask");
  for (let times = 0; times < 2; times += 1) await news.lookAtPlace(true);
  assert.deepEqual([changes, at("problem").dataset.code], [[true], "pass_stopped"]);
});
