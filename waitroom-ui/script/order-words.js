// Decides which words describe an order, and how soon to read it again. Pure code, so that it can
// be tested without a page.

const LATE_BACK = ["late_seats_gone", "late_limit", "late_card_limit", "late_plan_changed", "late_show_begun", "late_sales_ended", "late_exchange_over"];
const ENDED = ["ticketed", "cancelled", "capture_failed", "refunded", "partly_refunded", "exchanged"];
const HAS_TICKETS = ["ticketed", "partly_refunded"];
const NO_MONEY = ["created", "declined"];
const SOON_MS = 1_600; // The page's jitter keeps this below 2 s.
const LATER_MS = 10_000;
const SELDOM_MS = 60_000;
const HIDDEN_MS = 15_000;
// A late payment may come after the time to pay. For this long, the order is read often. After
// that, a late payment shows within about 10 s.
const LATE_MS = 15 * 60_000;
// The number of quick reads while an order's money is on its way back.
const QUICK_READS = 40;

const isOver = (order, now) => order.state === "pending" && Date.parse(order.pay_until) <= now;

/** Returns whether the last payment was declined, and the buyer has not begun another try. */
export const isDeclined = ({ state, reason }) => state === "pending" && reason === "payment_declined";

/**
 * Returns the name of the special case of a state that has words of its own, or null. `now` is the
 * server's time in milliseconds.
 */
export function caseOf(order, now) {
  const { state, reason } = order;
  if (isOver(order, now)) return "over";
  if (isDeclined(order)) return "declined";
  if (order.disputed && HAS_TICKETS.includes(state)) return "disputed";
  if (state === "refunded" && order.total?.amount === 0) return "free_refunded";
  if (state !== "expired") return null;
  if (reason === "late_money") return "late";
  if (reason === "late_money_withdrawn") return "withdrawn";
  if (reason === "consent_deadline") return "unanswered";
  return LATE_BACK.includes(reason) ? "late_back" : null;
}

/** The room of walk-ins. It has no waiting room in which a place could be brought elsewhere. */
const EVERYDAY = "everyday";

/** Returns the address of the waiting room that the order was made through, or null without one. */
export const lobbyOf = ({ room }) => (room && room !== EVERYDAY ? `/r/${encodeURIComponent(room)}` : null);

/** Returns whether the order may change at any moment, so that its page must follow closely. */
function isMoving(order, now) {
  if (order.state === "expired") {
    const mayPay = NO_MONEY.includes(order.payment?.state) && now < Date.parse(order.pay_until) + LATE_MS;
    return order.reason === "late_money" || mayPay;
  }
  return !ENDED.includes(order.state);
}

/**
 * Returns after how many milliseconds the page reads its order again. `reads` counts the reads
 * since the last change.
 */
export function readAgainMs(order, { hidden, reads, now }) {
  const isMoneyMoving = order?.refunds?.some(({ state }) => state === "on_its_way") ?? false;
  const moves = !order || isMoving(order, now);
  if (hidden) return moves || isMoneyMoving ? HIDDEN_MS : SELDOM_MS;
  if (moves) return SOON_MS;
  if (isMoneyMoving) return reads < QUICK_READS ? SOON_MS : LATER_MS;
  return order.state === "expired" && NO_MONEY.includes(order.payment?.state) ? LATER_MS : SELDOM_MS;
}
