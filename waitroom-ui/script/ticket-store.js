// Stores an opened ticket in this browser, so that it also opens without a connection: its page,
// the files of the page, its data and its QR code. Each ticket has a cache of its own, which is
// deleted as a whole.

import { orderOfTicket } from "./keys.js";

const PREFIX = "fairgate-ticket-";
const nameOf = (ticket) => `${PREFIX}${ticket}`;

// Browsers offer both only on pages that came by TLS or from the same machine.
const isPossible = () => Boolean(globalThis.caches && navigator.serviceWorker);

/**
 * Stores a ticket. `answers` lists what the page has just read, each with its address, text and
 * content type, such as `["/v1/tickets/ticket_1", "{…}", "application/json"]`. Returns whether
 * the ticket is stored.
 */
export async function storeTicket(ticket, answers) {
  if (!isPossible()) return false;
  try {
    await navigator.serviceWorker.register("/t/worker.js", { scope: "/t/" });
    const cache = await caches.open(nameOf(ticket));
    const wanted = [location.pathname, ...pageFiles()];
    for (const old of await cache.keys()) {
      const { pathname, search } = new URL(old.url);
      if (pathname.startsWith("/assets/") && !wanted.includes(pathname + search)) await cache.delete(old);
    }
    await cache.addAll(wanted);
    for (const [address, text, type] of answers) await cache.put(address, new Response(text, { headers: { "content-type": type } }));
    await navigator.serviceWorker.ready;
    return true;
  } catch {
    return false; // The storage is full or forbidden, or the connection has gone meanwhile.
  }
}

/** Returns the addresses of the styles and scripts that this page has loaded. */
function pageFiles() {
  const loaded = performance.getEntriesByType("resource").map(({ name }) => new URL(name));
  const own = loaded.filter(({ origin, pathname }) => origin === location.origin && pathname.startsWith("/assets/"));
  return [...new Set(own.map(({ pathname, search }) => pathname + search))];
}

/** Deletes the stored tickets of an order that are not among `tickets`, its valid ones. */
export async function forgetOtherTickets(order, tickets) {
  const names = (await globalThis.caches?.keys().catch(() => null)) ?? [];
  const stored = names.filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
  for (const ticket of stored) if (orderOfTicket(ticket) === order && !tickets.includes(ticket)) await forgetTicket(ticket);
}

/** Deletes a stored ticket. Without one it does nothing. */
export async function forgetTicket(ticket) {
  try {
    await globalThis.caches?.delete(nameOf(ticket));
  } catch {
    // The storage is forbidden, so nothing could be stored.
  }
}
