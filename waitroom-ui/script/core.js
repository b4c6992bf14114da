// Functions that every page's script needs: texts and data of the page, requests that never throw,
// problems in plain words, numbers and times in the reader's format, announcements with a limited
// rate, and values that are stored in this browser.

document.documentElement.classList.add("js");

export const $ = (id) => document.getElementById(id);
const texts = JSON.parse($("texts")?.textContent || "{}");
/** The address of the texts that this page does not have yet, or undefined if it has all. */
let later = $("texts")?.dataset.later;
export const data = JSON.parse($("data")?.textContent || "{}");

// The page's language with the reader's region, such as `en-GB`, if the browser names a region.
// Regions write dates differently.
const page = document.documentElement.lang || "en";
export const locale = navigator.languages?.find((one) => one.toLowerCase().startsWith(page)) ?? page;
const numbers = new Intl.NumberFormat(locale);
const plurals = new Intl.PluralRules(page);

export const count = (n) => (typeof n === "number" && Number.isFinite(n) ? numbers.format(n) : "–");

/**
 * Returns the text at a dotted key, with each `{name}` replaced by its value. If the text has forms
 * for different counts, `values.n` chooses the form. A text that the page does not have yet is
 * empty.
 */
export function t(key, values = {}) {
  let text = raw(key);
  if (text && typeof text === "object") text = text[plurals.select(values.n)] ?? text.other;
  return String(text ?? (later ? "" : key)).replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return value === undefined ? whole : typeof value === "number" ? count(value) : String(value);
  });
}

/**
 * Returns the entry at a dotted key unchanged: a text or a group of texts. Returns undefined if
 * there is no such entry.
 */
export const raw = (key) => key.split(".").reduce((at, part) => at?.[part], texts);

let fetchingLater = null;

/** Fetches the texts that this page does not have yet. Returns whether it has them all now. */
export async function loadLaterTexts() {
  if (!later) return true;
  fetchingLater ??= call("GET", later, { cache: "default" });
  const { ok, body } = await fetchingLater;
  fetchingLater = null;
  if (!ok) return false;
  for (const [group, more] of Object.entries(body)) texts[group] = { ...texts[group], ...more };
  later = undefined;
  return true;
}

/**
 * Formats seconds as `40 s`, `12 min`, `2 h 5 min`. A minute or more is rounded up to whole
 * minutes.
 */
export function span(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.ceil(seconds / 60);
  const [h, m] = [Math.floor(minutes / 60), minutes % 60];
  return h ? (m ? `${h} h ${m} min` : `${h} h`) : `${m} min`;
}

/** The IANA name of the venue's time zone, if it is known. The page shows times in this zone. */
let venueZone = data.zone;
/** Makes the page show times in a venue's time zone. Without a zone, nothing changes. */
export const useVenueZone = (zone) => void (venueZone = zone ?? venueZone);

/**
 * Returns the time zone in which to write times: `zone`, or else the venue's. Returns undefined if
 * neither is known, or if the browser does not know it. Undefined means the reader's own zone.
 */
export function shownZone(zone) {
  const wanted = zone ?? venueZone;
  try {
    Intl.DateTimeFormat("en", { timeZone: wanted });
    return wanted;
  } catch {
    return undefined;
  }
}

/** Names a time zone for people: "Berlin time". Without a zone, it is the reader's own. */
export function zoneName(zone) {
  if (!zone) return t("common.own_zone");
  return zone === "UTC" ? zone : t("common.zone", { place: zone.split("/").pop().replaceAll("_", " ") });
}

/** Writes a time with the place of its time zone: "8:00 PM (Berlin time)". */
export const withZone = (time, zone) => t("common.zoned", { time, zone: zoneName(zone) });

/**
 * Formats an RFC 3339 time for people, and names its time zone. The zone is `zone`, or else the
 * venue's, or else the reader's own.
 */
export function when(text, zone) {
  const time = new Date(text);
  if (!text || Number.isNaN(time.getTime())) return text || "–";
  const timeZone = shownZone(zone);
  return withZone(new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short", timeZone }).format(time), timeZone);
}

/** Writes where a venue is: its name, its address and its city, as far as they are known. */
export const whereLine = (name, { address, city }) => [name, address, city].filter(Boolean).join(", ");

export function show(element, visible = true) {
  if (element) element.hidden = !visible;
}

export function put(id, text) {
  const at = $(id);
  if (at && at.textContent !== text) at.textContent = text;
}

/** Makes an element: `make("li", { class: "x", text: "…" }, child, …)`. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// --- Requests ---

/**
 * Makes one call to the server and returns `{ ok, status, body, headers, problem }`. A network
 * failure is returned as the problem `offline`. `options`: body (sent as JSON), bearer, key
 * (Idempotency-Key), accept, cache, binary (returns an ArrayBuffer), text (returns a string).
 */
export async function call(method, path, options = {}) {
  const headers = { accept: options.accept ?? "application/json" };
  if (options.body !== undefined) headers["content-type"] = "application/json";
  if (options.bearer) headers.authorization = `Bearer ${options.bearer}`;
  if (options.key) headers["idempotency-key"] = options.key;
  try {
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    const answer = await fetch(path, { method, headers, body, credentials: "same-origin", cache: options.cache ?? "no-store" });
    if (answer.ok) return { ok: true, status: answer.status, headers: answer.headers, body: await readBody(answer, options) };
    const problem = (await answer.json().catch(() => null)) ?? {};
    problem.status = answer.status;
    problem.code ??= answer.status >= 500 ? "server" : answer.status === 404 ? "not_found" : "unknown";
    problem.retry_after_s = Number(answer.headers.get("retry-after")) || undefined;
    return { ok: false, status: answer.status, headers: answer.headers, problem };
  } catch {
    return { ok: false, status: 0, problem: { code: "offline", status: 0 } };
  }
}

async function readBody(answer, options) {
  if (options.binary) return answer.arrayBuffer();
  if (options.text) return answer.text();
  return answer.status === 204 ? null : answer.json();
}

/** Returns whether the same call may succeed later without any change. */
export const mayPass = (problem) => problem.status === 0 || problem.status >= 500 || problem.code === "idempotency_in_flight";

// --- Problems ---

/**
 * Shows in `#problem` what happened, what was not changed and what to do. A `problem` of null
 * clears the element. `values` fill the texts. If there is a `values.again`, which is a span of
 * time, the page says that it tries again by itself after that time.
 * `actions` are `{ label, href }` or `{ label, run }`.
 */
export function showProblem(problem, values = {}, actions = []) {
  const at = $("problem");
  newest = problem;
  if (!problem) {
    show(at, false);
    at.removeAttribute("data-code");
    return at.replaceChildren();
  }
  at.dataset.code = problem.code;
  const kinds = [problem.seats_in_baskets === 0 ? "capacity_sold" : null, problem.reason, problem.cause, problem.code].filter(Boolean);
  if (!later || kinds.every((one) => raw(`problems.${one}`))) return writeProblem(kinds, problem, values, actions);
  // If the words cannot be fetched, the problem is shown in the server's words.
  loadLaterTexts().then(() => newest === problem && writeProblem(kinds, problem, values, actions));
}

/** The problem that was shown last. Its words may still be loading. */
let newest = null;

function writeProblem(kinds, problem, values, actions) {
  const at = $("problem");
  const known = kinds.find((one) => raw(`problems.${one}`));
  const kind = known ?? fallbackKind(problem.status);
  const own = known !== undefined;
  if (problem.since) values = { since: when(problem.since), ...values };
  const what = own ? t(`problems.${kind}.what`, values) : problem.detail || t(`problems.${kind}.what`, values);
  at.replaceChildren(
    make("h2", {}, make("span", { class: "shape", "data-shape": "warning" }), (!own && problem.title) || t(`problems.${kind}.title`)),
    make("p", { text: `${what} ${t(`problems.${kind}.unchanged`, values)}` }),
    make("p", { text: values.again ? t("common.again", { retry: values.again }) : t(`problems.${kind}.next`, values) }),
  );
  if (actions.length) {
    at.append(make("p", { class: "actions" }, ...actions.map((a) => (a.href ? make("a", { class: "button", href: a.href, text: a.label }) : make("button", { class: "button", type: "button", text: a.label, onclick: a.run })))));
  }
  if (problem.request_id && (!own || problem.status >= 500)) at.append(make("p", { class: "hint", text: t("common.request_id", { id: problem.request_id }) }));
  show(at);
  at.focus({ preventScroll: true });
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  at.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
}

function fallbackKind(status) {
  if (status >= 500) return "server";
  return status === 422 || status === 400 ? "invalid" : "unknown";
}

export const problemShown = () => $("problem").dataset.code ?? null;

// --- Announcements ---

const QUIET_MS = 30_000;
/** How many announced texts stay. A text that is replaced too soon is never read out. */
const SAID_MAX = 3;
let saidAt = -QUIET_MS;
let waitingToSay = 0;

/**
 * Announces a text to screen readers: at once if it is `urgent`, after the texts that are being
 * read, and otherwise at least 30 s after the previous text. A newer text replaces a text that
 * still waits.
 */
export function announce(text, urgent = false) {
  clearTimeout(waitingToSay);
  const speak = () => {
    saidAt = performance.now();
    while ($("say").childElementCount >= SAID_MAX) $("say").firstChild.remove();
    $("say").append(make("p", { text }));
  };
  const wait = urgent ? 0 : Math.max(0, saidAt + QUIET_MS - performance.now());
  if (wait === 0) speak();
  else waitingToSay = setTimeout(speak, wait);
}

// --- Values stored in this browser ---

/**
 * Values in localStorage. `get` returns null if there is no such value, it is not JSON, or the
 * storage is forbidden. `set` does nothing if the storage is full or forbidden.
 */
export const kept = {
  get(name) {
    try {
      return JSON.parse(localStorage.getItem(`fairgate.${name}`));
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(`fairgate.${name}`, JSON.stringify(value));
    } catch {
      // Without storage, the page works until it is closed.
    }
  },
  remove(name) {
    try {
      localStorage.removeItem(`fairgate.${name}`);
    } catch {
      // Nothing could be stored, so there is nothing to remove.
    }
  },
};

/** Returns the names of the stored entries under a prefix. */
export function keptNames(prefix) {
  try {
    const names = Object.keys(localStorage).filter((name) => name.startsWith(`fairgate.${prefix}`));
    return names.map((name) => name.slice("fairgate.".length));
  } catch {
    return []; // The storage is forbidden, so nothing was stored.
  }
}

export function randomHex(bytes) {
  return [...crypto.getRandomValues(new Uint8Array(bytes))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

/** Shows the page's times in the reader's format. */
export function ready() {
  for (const at of document.querySelectorAll("time[datetime]")) if (at.dateTime) at.textContent = when(at.dateTime, at.dataset.zone);
}
