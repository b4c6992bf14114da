// Stripe's own payment form. Its script and its fields come from Stripe, so no card number passes
// through this server.

import { $, announce, put, show, t } from "./core.js";

const LOADED_WITHIN_MS = 20_000;
let form = null; // { secret, stripe, elements }; the last two once it is shown
let declined = false; // whether Stripe has declined the last try

/** Loads Stripe's script once. Rejects if the script is blocked or does not load in time. */
function load(address) {
  return new Promise((resolve, reject) => {
    if (window.Stripe) return resolve(window.Stripe);
    const script = document.createElement("script");
    const timeout = setTimeout(reject, LOADED_WITHIN_MS);
    script.src = address;
    script.addEventListener("load", () => (clearTimeout(timeout), window.Stripe ? resolve(window.Stripe) : reject()));
    script.addEventListener("error", () => (clearTimeout(timeout), reject()));
    document.head.append(script);
  });
}

/**
 * Shows the form for the payment's `client`: `script`, `publishable_key`, `client_secret`. A second
 * call for the same secret does nothing. Another secret belongs to another attempt to pay, which
 * gets a new form. `begins(declined)` is called before each try to pay, and tells whether it may
 * begin; `declined` tells whether Stripe declined the try before. `paid()` is called when Stripe
 * has accepted the buyer's confirmation. The order then shows the result of the payment.
 */
export async function payWithStripe(client, begins, paid) {
  const secret = client.client_secret;
  if (form?.secret === secret) return;
  const isFirst = !form;
  form = { secret };
  show($("stripe"));
  try {
    const Stripe = await load(client.script);
    const stripe = Stripe(client.publishable_key);
    const elements = stripe.elements({ clientSecret: secret });
    $("stripe-form").replaceChildren();
    elements.create("payment").mount("#stripe-form");
    form = { secret, stripe, elements };
    fault("");
    show($("stripe-pay"));
    if (isFirst) $("stripe-pay").addEventListener("click", () => confirm(begins, paid));
  } catch {
    fault(t("order.form_blocked"));
  }
}

function fault(words) {
  put("stripe-fault", words);
  show($("stripe-fault"), Boolean(words));
  if (words) announce(words, true);
}

async function confirm(begins, paid) {
  const button = $("stripe-pay");
  button.disabled = true;
  put("stripe-pay", t("order.paying"));
  fault("");
  if (!(await begins(declined))) return mayPay();
  // If the bank needs more from the buyer, the buyer is sent to the bank's page and then back to
  // this page, which shows the order's state.
  const confirmParams = { return_url: location.href };
  const { error } = await form.stripe
    .confirmPayment({ elements: form.elements, confirmParams, redirect: "if_required" })
    .catch(() => ({ error: {} }));
  if (error) {
    declined = error.type === "card_error";
    fault(t("order.not_paid", { why: error.message ?? t("order.not_paid_unknown") }));
    return mayPay();
  }
  show($("stripe"), false);
  paid();
}

function mayPay() {
  $("stripe-pay").disabled = false;
  put("stripe-pay", t("order.pay"));
}
