// The travellers' names, for shows that need them: one for each seat, in the order of the seats.

import { $, make, show, t } from "./core.js";

const fields = () => [...$("traveller-names").querySelectorAll("input")];

/** Shows one field for a traveller's name for each seat. Names that were typed stay. */
export function askForTravellers(seats) {
  const typed = new Map(fields().map((input) => [input.dataset.seat, input.value]));
  if (seats.every(({ label }) => typed.has(label)) && typed.size === seats.length) return;
  const field = ({ label }) => make("label", {}, t("checkout.traveller", { seat: label }), make("input", { class: "traveller", "data-seat": label, value: typed.get(label), autocomplete: "off", required: true, maxlength: 200, "aria-describedby": "travellers-fault" }));
  $("traveller-names").replaceChildren(...seats.map(field));
  show($("travellers"));
}

/**
 * Returns the names as the call for an order needs them. If a name is missing, returns null and
 * focuses the first empty field.
 */
export function travellersNamed() {
  const inputs = fields();
  const empty = inputs.filter((input) => !input.value.trim());
  for (const input of inputs) input.setAttribute("aria-invalid", String(empty.includes(input)));
  show($("travellers-fault"), empty.length > 0);
  empty[0]?.focus();
  return empty.length ? null : inputs.map((input) => ({ name: input.value.trim() }));
}
