// The service worker of the tickets' pages. It always asks the network first. If the network gives
// no answer, or the server fails, it answers with what a ticket's page has stored
// (ticket-store.js). It touches no other page: its scope is /t/, and it stores nothing itself.

const PATIENCE_MS = 4_000; // A connection that has not answered for this long counts as none.
const PARTS = [/^\/t\/[^/]+$/, /^\/v1\/tickets\/[^/]+$/, /^\/assets\//];

addEventListener("install", () => globalThis.skipWaiting());
addEventListener("activate", (event) => event.waitUntil(globalThis.clients.claim()));
addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  const isPart = origin === location.origin && PARTS.some((part) => part.test(pathname));
  if (isPart && event.request.method === "GET") event.respondWith(answer(event.request));
});

async function answer(request) {
  const stored = await caches.match(request.url, { ignoreVary: true });
  if (!stored) return fetch(request);
  const timeout = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, null));
  const fresh = await Promise.race([fetch(request).catch(() => null), timeout]);
  return fresh && fresh.status < 500 ? fresh : marked(stored);
}

/** Marks an answer, so that the page can say that it is a stored one. */
function marked(stored) {
  const headers = new Headers(stored.headers);
  headers.set("x-fairgate-stored", "1");
  return new Response(stored.body, { status: stored.status, headers });
}
