// The names of those who travel, for shows that want them: one a seat, in the order of the seats.

import { $, make, show, t } from "./core.js";

const fields = () => [...$("traveller-names").querySelectorAll("input")];

/** Asks for a name for every seat. */
export function askForTravellers(seats) {
  const field = ({ label }) => make("label", {}, t("checkout.traveller", { seat: label }), make("input", { class: "traveller", "data-seat": label, autocomplete: "off", required: true, maxlength: 200, "aria-describedby": "travellers-fault" }));
  $("traveller-names").replaceChildren(...seats.map(field));
  show($("travellers"));
}

/**
 * The names as an order wants them; null, and the first empty field in focus, where one is missing.
 */
export function travellersNamed() {
  const all = fields();
  const empty = all.filter((input) => !input.value.trim());
  for (const input of all) input.setAttribute("aria-invalid", String(empty.includes(input)));
  show($("travellers-fault"), empty.length > 0);
  empty[0]?.focus();
  return empty.length ? null : all.map((input) => ({ name: input.value.trim() }));
}
