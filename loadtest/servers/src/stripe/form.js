// The card form of the server that imitates Stripe: one field, and the functions that a page calls.

(() => {
  const { origin } = new URL(document.currentScript.src);
  const confirm = async ({ elements: { clientSecret, field } }) => {
    const id = clientSecret.split("_secret_")[0];
    const body = new URLSearchParams({ client_secret: clientSecret, payment_method: field.value });
    const answer = await fetch(`${origin}/v1/payment_intents/${id}/confirm`, { method: "POST", body });
    const told = await answer.json();
    return answer.ok ? { paymentIntent: told } : { error: { type: told.error.type, message: `${told.error.message}.` } };
  };
  const elements = ({ clientSecret }) => {
    const field = document.createElement("input");
    field.id = "card-number";
    field.setAttribute("aria-label", "Card number");
    const mount = (at) => document.querySelector(at).append(field);
    return { clientSecret, field, create: () => ({ mount }) };
  };
  window.Stripe = () => ({ elements, confirmPayment: confirm });
})();
