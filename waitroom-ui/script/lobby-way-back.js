// The link in the lobby to the show's page from which the visitor came. script/entry.js stored it.

import { kept, make, t } from "./core.js";

/**
 * Adds a link to the show's page from which the visitor came, before the other links. Removes every
 * other link to this page.
 */
export function wayBack(nav, room) {
  const wanted = kept.get(`wanted.${room}`);
  if (!wanted?.href?.startsWith("/s/")) return;
  const path = wanted.href.split("?")[0];
  for (const link of nav.querySelectorAll("a")) if (link.pathname === path) link.remove();
  nav.prepend(make("a", { class: "button big go", id: "way-back", href: wanted.href, text: t("lobby.go_seats_for", { title: wanted.title ?? "" }) }));
}
