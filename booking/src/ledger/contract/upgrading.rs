//! Checks of a ledger that was filled by a version of Fairgate in which terms had no numbers. The
//! orders in this ledger keep their rules.

use fairgate_model::orders::refund::TicketSelection;

use fairgate_model::orders::exchange::carried::with_carried_money;

use super::exchanging::{try_exchange, wanted};
use super::refunding::capture_of;
use super::*;
use crate::ledger::ExchangeRefused;

/// A function that returns bytes as a literal in the database's SQL.
pub(super) type Bytes = fn(&[u8]) -> String;

fn old_items(seats: &[u32], amount: i64) -> String {
    let item = |seat: &u32| serde_json::json!({"seat": seat, "from": 0, "to": 2, "amount": amount, "label": format!("A-{seat}"), "category": "Stalls"});
    serde_json::Value::Array(seats.iter().map(item).collect()).to_string()
}

/// Returns the statements with which an earlier version wrote an order and the rows that belong to
/// it.
fn old_order(of: &Order, items: &str, (state, paid): (&str, &str), bytes: Bytes) -> String {
    let (id, hold, payment) = (&of.id, &of.hold, &of.payment);
    let visitor = bytes(&of.visitor.0);
    let mut sql = format!(
        "INSERT INTO orders (order_id, show, hold, visitor, room, buyer_name, buyer_email, currency, total, items, \
         plan_version, payment, state, reason, created_at, pay_until, claim_until) VALUES ('{id}', '{show}', '{hold}', \
         {visitor}, 'demo', 'Ana', 'ana@example.org', 'EUR', {total}, '{items}', 1, '{payment}', '{state}', 'ordered', \
         {NOW_MS}, {CLAIM_UNTIL_MS}, {CLAIM_UNTIL_MS}); \
         INSERT INTO order_history (order_id, step, at, state, reason) VALUES ('{id}', 1, {NOW_MS}, '{state}', 'ordered'); \
         INSERT INTO payments (payment, order_id, provider, amount, currency, state, updated_at, owes, card) \
         VALUES ('{payment}', '{id}', 'sandbox', {total}, 'EUR', '{paid}', {NOW_MS}, {owes}, 'visa');",
        show = of.show,
        total = of.total,
        owes = if paid == "captured" {
            "'capture'"
        } else {
            "NULL"
        },
    );
    for item in &of.items {
        for leg in item.held.legs.clone() {
            sql += &format!(
                "INSERT INTO claims (show, seat, leg, order_id, visitor) VALUES ('{}', {}, {leg}, '{id}', {visitor});",
                of.show, item.held.seat
            );
        }
    }
    if state == "ticketed" {
        for item in &of.items {
            let ticket = fairgate_model::ids::TicketId::of_seat(&of.id, item.held.seat);
            sql += &format!(
                "INSERT INTO tickets (ticket, order_id, show, label, legs, issued_at) \
                 VALUES ('{ticket}', '{id}', '{}', '{}', '[0,1]', {NOW_MS});",
                of.show, item.label
            );
        }
    }
    sql
}

/// The orders that [`filling`] writes. `paid` and `given` have tickets. `unpaid` waits for its
/// payment. `successor` is to replace `given`, and waits for the payment of the difference.
struct Filled {
    paid: Order,
    unpaid: Order,
    given: Order,
    successor: Order,
}

fn filled() -> Filled {
    let given = order("c", BEN, &[4]);
    Filled {
        paid: order("a", ANA, &[0, 1]),
        unpaid: order("b", ANA, &[2]),
        successor: wanted(&given, "x", &[(5, 0..2, 1_700)]).successor,
        given,
    }
}

/// Returns the statements with which an earlier version filled a ledger. Its show refunds tickets
/// for a fee of a tenth of the price, and has no rule for exchanges.
pub(super) fn filling(bytes: Bytes) -> String {
    let Filled {
        paid,
        unpaid,
        given,
        successor,
    } = filled();
    let ticketed = ("ticketed", "captured");
    let pending = ("pending", "created");
    [
        format!(
            "INSERT INTO venues (venue, version, plan, digest, created_at) VALUES ('hall', 1, 'plan', {}, {NOW_MS}); \
             INSERT INTO shows (show, document, plan_version, incarnation, updated_at) VALUES ('night-1', \
             '{{\"venue\":\"hall\",\"title\":\"Night one\",\"starts_at\":\"2027-06-01T20:00:00Z\",\"currency\":\"EUR\",\
             \"prices\":{{\"cat1\":1000}},\"refunds\":[{{\"until_h\":1,\"fee_pct\":10}}]}}', 1, {LIFE}, {NOW_MS});",
            bytes(&[1; 32])
        ),
        old_order(&paid, &old_items(&[0, 1], 1_000), ticketed, bytes),
        old_order(&unpaid, &old_items(&[2], 1_000), pending, bytes),
        old_order(&given, &old_items(&[4], 1_000), ticketed, bytes),
        old_order(&successor, &old_items(&[5], 700), pending, bytes),
        format!(
            "INSERT INTO exchanges (successor, order_id, items, given, made_at) VALUES ('{}', '{}', '{}', '{}', {NOW_MS});",
            successor.id,
            given.id,
            old_items(&[5], 1_700),
            old_items(&[4], 1_000)
        ),
    ]
    .concat()
}

/// Checks that old orders can still be paid, refunded and exchanged.
pub(super) async fn check_old_orders(ledger: Books) {
    let Filled {
        paid,
        unpaid,
        given,
        successor,
    } = filled();
    let shown = ledger.shows().await.expect("readable").remove(0);
    assert_eq!((shown.terms, &shown.document.exchange), (2, &None));
    // From now on the show refunds nothing. Old orders keep the rules that the upgrade recorded.
    let mut bare = shown.clone();
    bare.document.refunds.clear();
    let bare = ledger.put_show(bare, None, NOW_MS).await;
    assert_eq!(bare.expect("stored").terms, 3);
    // The paid order is exchanged and refunded by the rules under which it was made.
    let old = record(&ledger, &paid).await.order;
    assert_eq!((old.terms, old.waived), (1, 0));
    let new_terms = |mut exchange: fairgate_model::orders::exchange::Exchange| {
        exchange.successor.terms = 2;
        for item in &mut exchange.items {
            item.category_key = "cat1".to_owned();
        }
        exchange.deal.carried.refundable = 1_800;
        exchange.items = with_carried_money(&exchange.items, exchange.deal.carried, old.currency);
        exchange
    };
    let exchange = new_terms(wanted(&old, "y", &[(6, 0..2, 1_000), (7, 0..2, 1_000)]));
    let made = ledger.exchange(&old.id, exchange, EXCHANGE_BASIS, NOW_MS + 3);
    let made = made.await.expect("allowed").expect("known");
    assert_eq!(made.state, OrderState::Ticketed);
    let applied = ledger
        .refund(&made.id, TicketSelection::All, NOW_MS + 4)
        .await;
    assert!(applied.expect("allowed").expect("known").changed);
    let back = record(&ledger, &made).await.refunds.remove(0);
    assert_eq!((back.amount + back.elsewhere, back.fee), (1_800, 200));
    // The unpaid order is paid.
    authorised(&ledger, &unpaid).await;
    let capture = capture_of(&ledger, &unpaid).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    assert_eq!(
        record(&ledger, &unpaid).await.order.state,
        OrderState::Ticketed
    );
    // The difference of the open exchange is paid, too.
    authorised(&ledger, &successor).await;
    let capture = capture_of(&ledger, &successor).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    let swapped = record(&ledger, &successor).await.order;
    assert_eq!((swapped.state, swapped.total), (OrderState::Ticketed, 700));
    assert_eq!(
        record(&ledger, &given).await.order.state,
        OrderState::Exchanged
    );
    // The upgrade made terms 2 from the show's document, which allows no exchange.
    let mut fresh = order("d", ANA, &[3]);
    fresh.terms = 2;
    claim(&ledger, &fresh).await.expect("the cells are free");
    authorised(&ledger, &fresh).await;
    let capture = capture_of(&ledger, &fresh).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    let fresh = record(&ledger, &fresh).await.order;
    let refused = try_exchange(&ledger, &fresh, "z", &[(2, 0..2, 1_000)]).await;
    assert!(
        matches!(refused, Err(ExchangeRefused::Rule(_))),
        "{refused:?}"
    );
    // Seats that a card bought before the upgrade still count for the card.
    let mut limited = ledger.shows().await.expect("readable").remove(0);
    limited.document.seats_per_card = Some(1);
    ledger
        .put_show(limited, None, NOW_MS)
        .await
        .expect("stored");
    let mut more = order("e", BEN, &[0]);
    more.terms = 2;
    claim(&ledger, &more).await.expect("the cells are free");
    let mut event = provider_event(&more, ProviderEventKind::Authorised);
    event.card = Some("visa".to_owned());
    assert_eq!(settled(&ledger, event, NOW_MS).await, "applied");
    assert_eq!(record(&ledger, &more).await.order.reason, "card_limit");
}

/// Returns the statements with which an earlier version wrote a train and its terms, and a show
/// that is no train.
pub(super) fn with_a_train(bytes: Bytes) -> String {
    let document = r#"{"venue":"hall","title":"G1","starts_at":"2027-06-01T20:00:00Z","currency":"EUR","prices":{}}"#;
    let terms = r#"{"currency":"EUR","prices":{},"starts_at":"2027-06-01T20:00:00Z"}"#;
    let run = keeping::departure("g1", "B", keeping::by_distance());
    let run = run
        .run
        .as_deref()
        .map(fairgate_model::runs::stored::run_text);
    let run = run.expect("a run").expect("JSON");
    format!(
        "INSERT INTO venues (venue, version, plan, digest, created_at) VALUES ('hall', 1, 'plan', {digest}, {NOW_MS}); \
         INSERT INTO shows (show, document, plan_version, updated_at, terms, run, departure) \
         VALUES ('g1', '{document}', 1, {NOW_MS}, 2, '{run}', 1), \
         ('night-1', '{document}', 1, {NOW_MS}, 1, NULL, NULL); \
         INSERT INTO terms (show, version, terms, at) VALUES ('g1', 1, '{terms}', {NOW_MS}), \
         ('g1', 2, '{terms}', {NOW_MS}), ('night-1', 1, '{terms}', {NOW_MS});",
        digest = bytes(&[1; 32])
    )
}

/// Checks that each version of the train's terms has its run, and that nothing else has one.
pub(super) async fn check_terms_of_a_train(ledger: Books) {
    let train = keeping::departure("g1", "B", keeping::by_distance());
    for (show, version, run) in [
        ("g1", 1, train.run.clone()),
        ("g1", 2, train.run),
        ("night-1", 1, None),
    ] {
        let terms = ledger.terms(&show.parse().expect("a slug"), version).await;
        let terms = terms.expect("readable").expect("stored");
        assert_eq!(terms.run, run, "{show}, version {version}");
    }
}
