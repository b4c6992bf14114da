// The form of the wishes. Each of up to three wishes says how many people, where, and how many of
// the seats are wheelchair places.

import { $, announce, make, t } from "./core.js";
import { priceWords } from "./lobby-prices.js";
import { categoriesOf, fittedWish, isGone, limitOf, movedUp, WISHES_MAX, wishesOf } from "./lobby-wish-plan.js";

/**
 * Shows the form in `box`. `known` is `{ wishes, shows, prices }`: the visitor's wishes so far, the
 * shows on sale, and the room's prices. `on` is `{ cancel(), save(wishes) }`. `save` gets the
 * wishes of the form. It gets an empty list if the visitor removed the last wish.
 */
export function showForm(box, known, on) {
  const { shows } = known;
  let rows = known.wishes.length ? known.wishes.map((wish) => fittedWish(wish, shows)) : [{ quantity: Math.min(2, limitOf(shows)) }];

  const render = (focus) => {
    const add = make("button", { id: "wish-add", class: "button plain", type: "button", text: t(`lobby.wish.add.${Math.min(rows.length + 1, WISHES_MAX)}`), onclick: addRow });
    const save = make("button", { id: "wish-save", class: "button", type: "submit", text: t("lobby.wish.save") });
    const cancel = make("button", { id: "wish-cancel", class: "button plain", type: "button", text: t("lobby.wish.cancel"), onclick: on.cancel });
    const form = make("form", { id: "wish-form", onsubmit: submit }, ...rows.map(fieldset), ...(rows.length < WISHES_MAX ? [add] : []), make("p", { class: "actions" }, save, cancel));
    box.replaceChildren(form);
    $(focus)?.focus();
  };

  async function submit(event) {
    event.preventDefault();
    await send(wishesOf(rows, shows));
  }

  async function send(wishes) {
    const save = $("wish-save");
    if (save.disabled) return;
    save.disabled = true;
    save.textContent = t("lobby.wish.saving");
    await on.save(wishes);
    save.disabled = false;
    save.textContent = t("lobby.wish.save");
  }

  function addRow() {
    const { show, quantity, accessible } = rows.at(-1);
    rows.push({ show, quantity, accessible });
    render(`wish-${rows.length - 1}-more`);
  }

  function removeRow(at) {
    if (rows.length === 1) return send([]);
    rows = rows.filter((_, other) => other !== at);
    render(`wish-${Math.max(0, at - 1)}-more`);
  }

  function raiseRow(at) {
    rows = movedUp(rows, at);
    announce(t(`lobby.wish.choice.${at}`), true);
    render(at > 1 ? `wish-${at - 1}-up` : "wish-0-more");
  }

  function fieldset(row, at) {
    const choice = t(`lobby.wish.choice.${at + 1}`);
    const fields = make("fieldset", { id: `wish-${at}`, class: "wish-choice" }, make("legend", { text: choice }));
    if (shows.length > 1) fields.append(showField(row, at));
    const accessible = make("select", { id: `wish-${at}-accessible`, onchange: ({ target }) => (row.accessible = Number(target.value)) });
    fields.append(peopleField(row, at, accessible));
    fillAccessible(row, accessible);
    const categories = categoriesOf(shows, row.show);
    if (categories.length > 1) fields.append(whereField(row, at, categories));
    fields.append(make("label", { class: "wish-line" }, make("span", { text: t("lobby.wish.accessible") }), accessible));
    const up = make("button", { id: `wish-${at}-up`, class: "button plain", type: "button", text: t("lobby.wish.up"), "aria-label": t("lobby.wish.up_choice", { choice }), onclick: () => raiseRow(at) });
    const remove = make("button", { id: `wish-${at}-remove`, class: "button plain", type: "button", text: t("lobby.wish.remove"), "aria-label": t("lobby.wish.remove_choice", { choice }), onclick: () => removeRow(at) });
    const buttons = [at > 0 && up, (rows.length > 1 || known.wishes.length > 0) && remove].filter(Boolean);
    if (buttons.length) fields.append(make("p", { class: "actions" }, ...buttons));
    return fields;
  }

  function showField(row, at) {
    const choose = ({ target }) => {
      rows[at] = fittedWish({ ...row, show: target.value }, shows);
      render(`wish-${at}-show`);
    };
    const options = [{ show: "", title: t("lobby.wish.any_show") }, ...shows].map(({ show, title }) => make("option", { value: show, text: title, selected: show === (row.show ?? "") }));
    return make("label", {}, t("lobby.wish.show"), make("select", { id: `wish-${at}-show`, onchange: choose }, ...options));
  }

  function peopleField(row, at, accessible) {
    const most = limitOf(shows, row.show);
    const shown = make("output", { id: `wish-${at}-quantity` });
    const step = (by) => make("button", { id: `wish-${at}-${by > 0 ? "more" : "less"}`, class: "button plain", type: "button", text: by > 0 ? "+" : "−", "aria-label": t(by > 0 ? "lobby.wish.more" : "lobby.wish.fewer"), onclick: () => change(by) });
    const [less, more] = [step(-1), step(1)];
    const write = () => {
      shown.textContent = String(row.quantity);
      // A disabled button would lose the focus.
      less.setAttribute("aria-disabled", String(row.quantity <= 1));
      more.setAttribute("aria-disabled", String(row.quantity >= most));
    };
    const change = (by) => {
      row.quantity = Math.max(1, Math.min(most, row.quantity + by));
      write();
      fillAccessible(row, accessible);
      announce(t("common.seats_n", { n: row.quantity }), true);
    };
    write();
    const name = `wish-${at}-people`;
    return make("div", { class: "wish-line", role: "group", "aria-labelledby": name }, make("span", { id: name, text: t("lobby.wish.people") }), make("span", { class: "wish-step" }, less, shown, more));
  }

  function whereField(row, at, categories) {
    const name = `wish-${at}-where`;
    const tick = ({ target }) => {
      const others = (row.categories ?? []).filter((key) => key !== target.value);
      row.categories = target.checked ? [...others, target.value] : others;
    };
    const labels = categories.map((category) => {
      const { key, label } = category;
      const input = make("input", { type: "checkbox", name, value: key, checked: row.categories?.includes(key), onchange: tick });
      const gone = isGone(category, known.prices) ? [make("span", { class: "small muted", text: t("lobby.prices.none") })] : [];
      return make("label", { class: "tick" }, input, make("span", { class: "wish-label" }, label, ...gone), make("b", { text: priceWords(category) }));
    });
    return make("fieldset", { class: "wish-where", "aria-describedby": `${name}-hint` }, make("legend", { text: t("lobby.wish.where") }), make("p", { id: `${name}-hint`, class: "hint", text: t("lobby.wish.where_hint") }), ...labels);
  }

  render("wish-0-more");
}

/** Offers every number of wheelchair places from none up to the number of people. */
function fillAccessible(row, select) {
  row.accessible = Math.min(row.accessible ?? 0, row.quantity);
  const counts = Array.from({ length: row.quantity + 1 }, (_, n) => n);
  select.replaceChildren(...counts.map((n) => make("option", { value: String(n), text: n ? String(n) : t("lobby.wish.accessible_none"), selected: n === row.accessible })));
}
