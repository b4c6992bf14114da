// A pass is kept while somebody does something on the page: script/still-here.js with its question,
// script/acts.js, and what the lobby says, script/lobby-still.js.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const here = import.meta.dirname;
const words = JSON.parse(readFileSync(join(here, "../text/en.json")));
const golden = (name) => JSON.parse(readFileSync(join(here, `../wire/${name}.json`)));

const listeners = [];
const elements = new Map();

/** Lets the browser report what a person did, or what looks like it. Returns the event. */
function fire(type, more = {}) {
  const event = { type, isTrusted: true, target: document, isPrevented: false, preventDefault: () => (event.isPrevented = true), ...more };
  for (const { type: heard, listener } of [...listeners]) if (heard === type) listener(event);
  return event;
}

/** An element that takes whatever the scripts do to it. */
class FakeElement {
  dataset = {};
  children = [];
  hidden = false;
  isConnected = true;
  #text = "";
  get textContent() {
    return this.#text + this.children.map((child) => child.textContent ?? child).join(" ");
  }
  set textContent(text) {
    this.children = [];
    this.#text = text;
  }
  get childElementCount() {
    return this.children.length;
  }
  get firstChild() {
    return { remove: () => this.children.shift() };
  }
  addEventListener(name, listener) {
    this[`on${name}`] = listener;
  }
  setAttribute(name, value) {
    this[name] = value;
    if (name === "id") elements.set(value, this);
  }
  removeAttribute(name) {
    delete this.dataset[name.replace("data-", "")];
  }
  append(...children) {
    this.children.push(...children);
  }
  after(element) {
    this.append(element);
  }
  replaceChildren(...children) {
    this.children = children;
  }
  remove() {
    this.isConnected = false;
    elements.delete(this.id);
  }
  showModal() {
    this.isOpen = true;
  }
  close() {
    this.isOpen = false;
  }
  /** A browser reports a focus by a script as it reports a focus by a person. */
  focus() {
    document.activeElement = this;
    fire("focusin", { target: this });
  }
  scrollIntoView() {
    fire("scroll");
  }
}

const stored = {};
const asked = [];
/** What the room answers: a status and a body. */
let answer = [204, null];
Object.assign(globalThis, {
  Element: FakeElement,
  HTMLElement: FakeElement,
  addEventListener: (type, listener) => listeners.push({ type, listener }),
  document: {
    documentElement: { classList: { add() {} }, lang: "en", scrollWidth: 400, scrollHeight: 2000, clientWidth: 400, clientHeight: 700 },
    head: new FakeElement(),
    body: new FakeElement(),
    title: "",
    activeElement: null,
    isFocused: true,
    hasFocus: () => document.isFocused,
    // `null` is what a browser returns for an element that the page does not have.
    getElementById: (id) => elements.get(id) ?? (["problem", "say", "state-body"].includes(id) ? made(id) : null),
    createElement: () => new FakeElement(),
  },
  fetch: async (path, { method }) => {
    asked.push(`${method} ${path}`);
    const [status, body] = answer;
    return { ok: status < 300, status, headers: new Map(), json: async () => body };
  },
  matchMedia: () => ({ matches: true }),
});
Object.defineProperty(globalThis, "localStorage", {
  value: { getItem: (name) => stored[name] ?? null, setItem: (name, value) => (stored[name] = value), removeItem: (name) => delete stored[name] },
});
Object.defineProperty(globalThis, "navigator", { value: {} });
const made = (id) => elements.set(id, new FakeElement()).get(id);
made("texts").textContent = JSON.stringify(words);

const { StillHere, knowsPass, tellPassEnded } = await import("../script/still-here.js");
const { renderStill } = await import("../script/lobby-still.js");

const HERE = "POST /v1/rooms/sale/place/here";
/** Lets all that waits for an answer go on. */
const settle = () => new Promise((over) => setImmediate(over));
let hours = 0;

/** Runs a test at an hour of its own, on a page of a visitor who has a pass. */
function withPass(name, run) {
  test(name, async (context) => {
    hours += 1;
    context.mock.timers.enable({ apis: ["Date", "setTimeout", "setInterval"], now: Date.parse("2027-01-10T09:00:00Z") + hours * 3_600_000 });
    context.mock.method(performance, "now", () => Date.now());
    for (const list of [listeners, asked]) list.length = 0;
    for (const id of ["problem", "say", "still", "state-body", "pass-ended"]) elements.delete(id);
    stored["fairgate.room.sale"] = JSON.stringify({ joined: true, pass_until: "2027-01-11T09:00:00Z" });
    document.title = "Night one";
    document.activeElement = document.body;
    document.isFocused = true;
    answer = [204, null];
    const ended = [];
    const still = new StillHere("sale", (...told) => ended.push(told));
    const tick = async (seconds) => {
      context.mock.timers.tick(1000 * seconds);
      await settle();
    };
    await run({ still, ended, tick });
    still.forget();
  });
}

const question = () => elements.get("still");

withPass("the room is told at once that somebody does something, then at most every 20 s, and never by time alone", async ({ tick }) => {
  await tick(300);
  assert.deepEqual(asked, []);
  for (const type of ["click", "focusin", "input", "keydown", "pointerdown", "wheel"]) {
    fire(type);
    await tick(0);
    assert.deepEqual([type, ...asked.splice(0)], [type, HERE]);
    await tick(20);
  }
  fire("pointerdown");
  await tick(0);
  fire("click");
  await tick(0.5);
  fire("focusin");
  await tick(60);
  assert.equal(asked.length, 1, "a tap is told once, whatever events it makes");
  asked.length = 0;
  fire("wheel");
  await tick(0);
  await tick(19);
  fire("keydown");
  await tick(0.9);
  assert.equal(asked.length, 1);
  await tick(0.1);
  assert.equal(asked.length, 2, "what was done meanwhile is told when the 20 s are over");
  await tick(600);
  assert.equal(asked.length, 2);
});

withPass("what scripts do does not count, nor the focus and the view that the page moves itself", async ({ tick }) => {
  for (const type of ["click", "focusin", "input", "keydown", "pointerdown", "scroll", "wheel"]) fire(type, { isTrusted: false });
  const element = new FakeElement();
  fire("scroll"); // From now on, the size of what scrolls is known.
  element.focus();
  element.scrollIntoView();
  await tick(1);
  fire("scroll"); // A smooth scroll of the page lasts for a while.
  await tick(20);
  assert.deepEqual(asked, []);
  fire("scroll");
  await tick(0);
  assert.deepEqual(asked, [HERE]);
});

withPass("a page whose content changes scrolls without anybody, and a person scrolls the same content", async ({ tick }) => {
  const list = { scrollWidth: 300, scrollHeight: 900, clientWidth: 300, clientHeight: 200 };
  for (const scrollHeight of [900, 880, 900, 940]) fire("scroll", { target: Object.assign(list, { scrollHeight }) });
  await tick(20);
  assert.deepEqual(asked, []);
  fire("scroll", { target: list });
  await tick(0);
  assert.deepEqual(asked, [HERE]);
});

withPass("a page that knows of no pass tells nothing until the room asks", async ({ still, tick }) => {
  delete stored["fairgate.room.sale"];
  fire("click");
  await tick(60);
  assert.deepEqual(asked, []);
  still.heard(golden("idle-over"));
  fire("click");
  await tick(0);
  assert.deepEqual(asked, [HERE]);
});

withPass("the question is in front of the page and in its title, and has the focus", async ({ still, tick }) => {
  const field = new FakeElement();
  field.focus();
  still.heard(golden("idle"));
  const dialog = question();
  assert.deepEqual([dialog.isOpen, dialog.role, dialog["aria-labelledby"], dialog["aria-describedby"]], [true, "alertdialog", "still-title", "still-why"]);
  assert.equal(elements.get("still-title").textContent, words.common.still.title);
  assert.match(elements.get("still-why").textContent, /ends in 30 s because/);
  assert.equal(elements.get("still-why").role, undefined, "the focus makes screen readers read it");
  assert.equal(document.activeElement, elements.get("still-yes"));
  const clock = dialog.children[2];
  assert.deepEqual([clock.role, clock.textContent, document.title], ["timer", "Time left: 0:30", "30 s · Are you still there?"]);
  await tick(10);
  assert.deepEqual([clock.textContent, document.title, elements.get("say")?.textContent ?? ""], ["Time left: 0:20", "20 s · Are you still there?", ""]);
  document.title = "3 ahead";
  await tick(1);
  assert.equal(document.title, "19 s · Are you still there?", "the page does not take the title back");
  still.heard({ ...golden("idle"), ends_in_s: 15 });
  assert.equal(clock.textContent, "Time left: 0:15", "another frame changes the time that is left");
  fire("click");
  assert.deepEqual([question(), document.title, document.activeElement], [undefined, "3 ahead", field]);
});

withPass("without the focus of the window, the question is an alert", ({ still }) => {
  document.isFocused = false;
  still.heard(golden("idle"));
  assert.equal(elements.get("still-why").role, "alert");
});

withPass("any key, click, touch or scroll answers at once, even right after the room was told", async ({ still, tick }) => {
  fire("scroll");
  for (const type of ["click", "keydown", "pointercancel", "scroll", "wheel"]) {
    await tick(2);
    fire("input");
    await tick(20); // The room knows of the input, and asks all the same.
    asked.length = 0;
    still.heard(golden("idle"));
    await tick(2);
    const { isPrevented } = fire(type);
    assert.deepEqual([type, question(), asked], [type, undefined, [HERE]]);
    assert.equal(isPrevented, type === "keydown", "a key presses nothing behind the question");
  }
  still.heard(golden("idle"));
  assert.equal(fire("keydown", { ctrlKey: true }).isPrevented, false, "a shortcut is the browser's");
  still.heard(golden("idle"));
  question().oncancel({});
  assert.equal(question(), undefined, "the gesture to go back answers, too");
});

withPass("a finger that only begins to tap, and what the page does itself, do not answer", async ({ still, tick }) => {
  fire("scroll");
  await tick(20);
  asked.length = 0;
  still.heard(golden("idle"));
  await tick(2);
  for (const type of ["pointerdown", "focusin", "input"]) fire(type);
  new FakeElement().scrollIntoView();
  for (const type of ["click", "keydown", "wheel"]) fire(type, { isTrusted: false });
  await tick(25);
  assert.deepEqual([question()?.isOpen, asked], [true, []]);
});

withPass("what was done in another tab takes the question away, and the room is not told again", async ({ still, tick }) => {
  still.heard(golden("idle"));
  still.heard(golden("idle-over"));
  await tick(60);
  assert.deepEqual([question(), document.title, asked], [undefined, "Night one", []]);
});

withPass("a visitor who has just done something is not asked", async ({ still, tick }) => {
  fire("click");
  await tick(0);
  await tick(5);
  fire("click");
  still.heard(golden("idle"));
  assert.deepEqual([question(), asked], [undefined, [HERE, HERE]]);
});

withPass("an answer that does not reach the room is sent again for half a minute", async ({ still, tick }) => {
  answer = [503, { code: "server" }];
  still.heard(golden("idle"));
  fire("click");
  await settle();
  const counts = [];
  for (const seconds of [2, 4, 8, 16, 60]) {
    await tick(seconds);
    counts.push(asked.length);
  }
  assert.deepEqual(counts, [2, 3, 4, 5, 5]);
  answer = [204, null];
  still.heard(golden("idle"));
  fire("click");
  await tick(60);
  assert.equal(asked.length, 6);
});

for (const name of ["pass-ended", "pass-ended-lapses"]) {
  withPass(`the pass is forgotten when the room ends it: ${name}`, async ({ still, ended, tick }) => {
    still.heard(golden("idle"));
    still.heard(golden(name));
    assert.deepEqual([ended, question(), knowsPass("sale")], [[[golden(name).cause, false]], undefined, false]);
    assert.deepEqual(JSON.parse(stored["fairgate.room.sale"]), { joined: true });
    fire("click");
    await tick(60);
    assert.deepEqual(asked, []);
  });
}

withPass("a refusal tells that the pass has ended, and any other refusal only that there is none", async ({ ended, tick }) => {
  const refusals = [
    [401, { code: "pass_ended", cause: "idle" }, [["idle", true]]],
    [401, { code: "pass_ended", cause: "expired" }, []],
    [401, { code: "place_required" }, []],
    [404, { code: "not_found" }, []],
  ];
  for (const [status, problem, told] of refusals) {
    [ended.length, asked.length, answer] = [0, 0, [status, problem]];
    stored["fairgate.room.sale"] = JSON.stringify({ pass_until: "2027-01-11T09:00:00Z" });
    await tick(20);
    for (let times = 0; times < 3; times += 1) {
      fire("click");
      await tick(20);
    }
    assert.deepEqual([ended, asked.length, knowsPass("sale")], [told, 1, false], problem.code);
  }
});

withPass("the end is told once, with its cause, what stays and the way to the waiting room", () => {
  for (const cause of ["idle", "lapses", "another"]) {
    elements.delete("problem");
    tellPassEnded("sale", cause);
    const problem = elements.get("problem");
    const { what, unchanged, next } = words.problems[cause] ?? words.problems.pass_ended;
    for (const part of [what, unchanged, next]) assert.ok(problem.textContent.includes(part), part);
    const [link] = problem.children.at(-1).children;
    assert.deepEqual([problem.dataset.code, link.href, link.textContent], ["pass_ended", "/r/sale", words.common.to_lobby]);
    problem.replaceChildren();
    tellPassEnded("sale", cause);
    assert.equal(problem.textContent, "");
  }
});

withPass("the lobby says why somebody waits again or may go in again, and announces it once", () => {
  const told = (place) => {
    renderStill({ slug: "sale", now: { place } });
    const line = elements.get("pass-ended");
    return line && !line.hidden ? line.textContent : null;
  };
  assert.equal(told({ state: "waiting", pass_ended: null }), null);
  const inLine = (sentence) => `${sentence} ${words.lobby.ended_in_line}`;
  for (const [cause, sentence] of Object.entries(words.lobby.ended)) {
    assert.equal(told({ state: "waiting", pass_ended: cause }), inLine(sentence));
    assert.equal(told({ state: "waiting", pass_ended: cause }), inLine(sentence));
    assert.equal(told({ state: "called", pass_ended: cause }), sentence);
    assert.equal(told({ state: "admitted", pass_ended: cause }), null);
  }
  assert.equal(told(null), null);
  assert.deepEqual(elements.get("say").children.map((said) => said.textContent), Object.values(words.lobby.ended).map(inLine), "each is announced once");
  assert.equal(knowsPass("sale"), false);
  elements.delete("say");
  for (const state of ["called", "admitted", "called"]) told({ state, pass_ended: "idle" });
  assert.deepEqual(elements.get("say").children.map((said) => said.textContent), [words.lobby.ended.idle, words.lobby.ended.idle], "the end of the next turn is announced, too");
});

withPass("the lobby asks, plays the sound, and does not ask after the end", async ({ tick }) => {
  let [chimes, refreshed] = [0, 0];
  const lobby = { slug: "sale", chime: () => (chimes += 1), refresh: () => (refreshed += 1), now: { place: { state: "admitted" }, idle: golden("idle") } };
  const isNew = listeners.length;
  renderStill(lobby);
  assert.deepEqual([question(), chimes, lobby.now.idle], [undefined, 1, null], "the style is loaded first");
  document.head.children[0].onload();
  assert.equal(question().isOpen, true);
  renderStill(lobby);
  assert.equal(chimes, 1);
  renderStill({ ...lobby, now: { place: { state: "waiting", pass_ended: "idle" } } });
  assert.equal(question(), undefined);
  renderStill({ ...lobby, now: { place: { state: "admitted" }, idle: golden("idle") } });
  answer = [401, { code: "pass_ended", cause: "idle" }];
  listeners.splice(0, isNew); // What the page of the seats listens to.
  fire("click");
  await tick(0);
  assert.deepEqual([refreshed, asked], [1, [HERE]]);
});
