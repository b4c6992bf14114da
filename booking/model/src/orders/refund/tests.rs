//! Refund rules and plans, tested without a ledger.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use proptest::prelude::*;

use super::rules::RefundRuleInForce;
use super::*;
use crate::holds::HeldSeat;
use crate::ids::{HoldId, PaymentId};
use crate::money::Currency;
use crate::orders::Buyer;
use crate::orders::exchange::carried::CarriedMoney;
use crate::runs::{StationCall, TrainFares, TrainRun};
use crate::shows::fate::ShowFate;
use crate::shows::terms::SaleTerms;

const START_MS: i64 = 1_811_894_400_000; // 2027-06-02T00:00:00Z
const HOUR_MS: i64 = 3_600_000;

fn terms(rules: &serde_json::Value) -> SaleTerms {
    let terms = serde_json::json!({
        "currency": "EUR", "starts_at": "2027-06-02T00:00:00Z", "prices": {"cat1": 1_999}, "refunds": rules,
    });
    serde_json::from_value(terms).expect("valid terms")
}

fn order_terms(rules: &serde_json::Value) -> OrderTerms {
    OrderTerms {
        original: terms(rules),
        present: terms(rules),
        run: None,
        fate: None,
    }
}

fn order(state: OrderState, prices: &[i64]) -> (Order, Vec<Ticket>) {
    let show: crate::ids::ShowId = "night-1".parse().expect("a slug");
    let visitor = fairgate_pass::Holder([1; 32]);
    let hold = HoldId::of_key(&show, visitor, "k");
    let id = OrderId::of_hold(&hold);
    let item = |(seat, amount): (u32, &i64)| OrderItem {
        held: HeldSeat { seat, legs: 0..1 },
        amount: *amount,
        label: format!("A-{seat}"),
        category: "Stalls".to_owned(),
        category_key: "cat1".to_owned(),
        traveller: None,
        carried: CarriedMoney::default(),
    };
    let items: Vec<OrderItem> = (0_u32..).zip(prices).map(item).collect();
    let ticket = |item: &OrderItem| Ticket {
        id: TicketId::of_seat(&id, item.held.seat),
        order: id.clone(),
        show: show.clone(),
        label: item.label.clone(),
        legs: vec![0],
        plan_version: 1,
        name: None,
        buyer: "Ana".to_owned(),
        category: Some(item.category.clone()),
        price: Some(Currency::EUR.with_amount(item.amount)),
        issued_at_ms: 1,
        scanned_at_ms: None,
        voided_at_ms: None,
        blocked_at_ms: None,
        visitor,
        room: "demo".to_owned(),
    };
    let tickets = match state {
        OrderState::Confirmed | OrderState::Pending => Vec::new(),
        _ => items.iter().map(ticket).collect(),
    };
    let order = Order {
        payment: PaymentId::of_order(&id),
        show,
        hold,
        visitor,
        room: "demo".to_owned(),
        buyer: Buyer {
            name: "Ana".to_owned(),
            email: "ana@example.org".to_owned(),
        },
        currency: Currency::EUR,
        total: prices.iter().sum(),
        items,
        plan_version: 1,
        terms: 1,
        waived: 0,
        state,
        reason: String::new(),
        created_at_ms: 0,
        pay_until_ms: 0,
        full_pay_until_ms: 0,
        claim_until_ms: 0,
        full_claim_until_ms: 0,
        id,
    };
    (order, tickets)
}

#[track_caller]
fn check_rule(
    rules: &serde_json::Value,
    now_ms: i64,
    expected: Result<(u32, i64), RefundRuleError>,
) {
    let found = in_force(
        &order_terms(rules),
        &order(OrderState::Ticketed, &[]).0,
        now_ms,
    );
    let found = found.map(|rule| (rule.fee_pct, rule.until_ms.expect("the rule ends")));
    assert_eq!(found, expected);
}

#[test]
fn the_rule_with_the_lowest_fee_that_has_not_ended_is_in_force() {
    let rules =
        || serde_json::json!([{"until_h": 48, "fee_pct": 10}, {"until_h": 2, "fee_pct": 50}]);
    let (first, last) = (START_MS - 48 * HOUR_MS, START_MS - 2 * HOUR_MS);
    check_rule(&rules(), 0, Ok((10, first)));
    check_rule(&rules(), first, Ok((10, first)));
    check_rule(&rules(), first + 1, Ok((50, last)));
    check_rule(&rules(), last, Ok((50, last)));
    check_rule(
        &rules(),
        last + 1,
        Err(RefundRuleError::Over { until_ms: last }),
    );
    check_rule(&serde_json::json!([]), 0, Err(RefundRuleError::None));
}

#[test]
fn a_cancelled_or_postponed_show_keeps_no_fee() {
    let free = |fate, now_ms| {
        let rules = OrderTerms {
            fate: Some(fate),
            ..order_terms(&serde_json::json!([{"until_h": 48, "fee_pct": 10}]))
        };
        let order = order(OrderState::Ticketed, &[]).0;
        in_force(&rules, &order, now_ms).map(|rule| rule.fee_pct)
    };
    assert_eq!(free(ShowFate::Cancelled, START_MS + 1), Ok(0));
    let postponed = |since_ms| ShowFate::Postponed {
        since_ms,
        refunds_until_ms: 5,
    };
    assert_eq!(
        (free(postponed(0), 5), free(postponed(0), 6)),
        (Ok(0), Ok(10))
    );
    assert_eq!(
        free(postponed(-1), 5),
        Ok(10),
        "it was bought after it was postponed"
    );
}

/// Returns a train from A over B to C, with the minutes by which it leaves A late and arrives at C
/// late.
fn run(stations: &[&str], late_min: i64, arrives_late_min: i64) -> Arc<TrainRun> {
    let calls = stations.iter().map(|station| {
        let (at_ms, late_min) = match *station {
            "A" => (START_MS, late_min),
            "C" => (START_MS + 4 * HOUR_MS, arrives_late_min),
            _ => (START_MS + 2 * HOUR_MS, 0),
        };
        let at = Timestamp::from_millisecond(at_ms + late_min * 60_000).expect("a moment");
        StationCall {
            station: (*station).to_owned(),
            name: String::new(),
            time_zone: None,
            arrives: Some(at),
            departs: Some(at),
            at_m: 0,
            no_boarding: false,
            no_alighting: false,
        }
    });
    Arc::new(TrainRun {
        train: "G1".to_owned(),
        date: jiff::civil::date(2027, 6, 2),
        time_zone: None,
        calls: calls.collect(),
        fares: Arc::new(TrainFares::Table(BTreeMap::new())),
    })
}

#[test]
fn a_train_moved_by_more_than_a_quarter_of_an_hour_keeps_no_fee_until_it_leaves() {
    let rules = serde_json::json!([{"until_h": 1, "fee_pct": 20}]);
    let sold = run(&["A", "B", "C"], 0, 0);
    let found = |now: &Arc<TrainRun>, legs: Range<u16>, at_ms| {
        let mut terms = order_terms(&rules);
        terms.original.run = Some(Arc::clone(&sold));
        terms.original.starts_at = sold.calls[0].departs.expect("it leaves");
        terms.present.run = Some(Arc::clone(now));
        terms.present.starts_at = now.calls[0].departs.expect("it leaves");
        terms.run = Some(Arc::clone(now));
        let mut order = order(OrderState::Ticketed, &[1_000]).0;
        order.items[0].held.legs = legs;
        in_force(&terms, &order, at_ms).map(|rule| (rule.fee_pct, rule.reason))
    };
    let by_rule = Ok((20, RefundReason::ByBuyer));
    let free = Ok((0, RefundReason::TrainRetimed));
    let three = |late, arrives_late| run(&["A", "B", "C"], late, arrives_late);
    assert_eq!(found(&three(15, -15), 0..2, 0), by_rule);
    assert_eq!(found(&three(16, 0), 0..2, 0), free);
    assert_eq!(found(&three(-16, 0), 0..1, 0), free);
    assert_eq!(found(&three(0, 16), 0..2, 0), free);
    assert_eq!(found(&three(16, 0), 1..2, 0), by_rule, "they get on at B");
    assert_eq!(found(&three(0, 16), 0..1, 0), by_rule, "they get off at B");
    let leaves_ms = START_MS + 16 * 60_000;
    assert_eq!(found(&three(16, 0), 0..2, leaves_ms), free);
    assert!(found(&three(16, 0), 0..2, leaves_ms + 1).is_err());
    // The train has lost its stop B, so its legs have other numbers.
    assert_eq!(found(&run(&["A", "C"], 0, 0), 0..1, 0), by_rule);
    assert_eq!(found(&run(&["A", "C"], 0, 20), 0..1, 0), free);
}

#[test]
fn a_scanned_ticket_blocks_a_refund_of_all_but_not_of_the_unscanned() {
    let (order, mut tickets) = order(OrderState::Ticketed, &[1_000, 2_000]);
    tickets[1].scanned_at_ms = Some(7);
    let terms = order_terms(&serde_json::json!([{"until_h": 0, "fee_pct": 0}]));
    let input = RefundInput {
        order: &order,
        tickets: &tickets,
        terms: &terms,
    };
    let all = plan_refund(&input, &TicketSelection::All, 0);
    assert!(matches!(all, Err(OrderRefundError::Scanned(labels)) if labels == ["A-1"]));
    let rest = plan_refund(&input, &TicketSelection::Unscanned, 0)
        .expect("allowed")
        .expect("one");
    assert_eq!(
        (rest.amount, rest.decision.state),
        (1_000, OrderState::PartlyRefunded)
    );
    let named = TicketSelection::Named(vec![TicketId::of_seat(&order.id, 9)]);
    assert!(matches!(
        plan_refund(&input, &named, 0),
        Err(OrderRefundError::Unknown(_))
    ));
}

#[test]
fn only_tickets_of_paid_orders_can_be_given_back() {
    let terms = order_terms(&serde_json::json!([{"until_h": 0, "fee_pct": 0}]));
    for state in OrderState::ALL {
        let (order, tickets) = order(state, &[1_000]);
        let input = RefundInput {
            order: &order,
            tickets: &tickets,
            terms: &terms,
        };
        let planned = plan_refund(&input, &TicketSelection::All, 0);
        match state {
            OrderState::Confirmed | OrderState::Ticketed | OrderState::PartlyRefunded => {
                let planned = planned.expect("allowed").expect("one");
                assert_eq!(
                    planned.voids_payment(&order),
                    state == OrderState::Confirmed
                );
            }
            OrderState::Refunded => assert_eq!(planned.expect("nothing left"), None),
            _ => assert!(matches!(planned, Err(OrderRefundError::State(of)) if of == state)),
        }
    }
}

#[test]
fn rules_that_a_show_removes_later_still_apply_to_earlier_orders() {
    let none = || serde_json::json!([]);
    let rules = || serde_json::json!([{"until_h": 48, "fee_pct": 10}]);
    let known = |original, present| OrderTerms {
        original: terms(&original),
        ..order_terms(&present)
    };
    let order = order(OrderState::Ticketed, &[]).0;
    let fee = |known: &OrderTerms| in_force(known, &order, 0).map(|rule| rule.fee_pct);
    assert_eq!(fee(&known(rules(), none())), Ok(10));
    assert_eq!(
        fee(&known(none(), rules())),
        Ok(10),
        "a better rule that came later counts"
    );
    let kinder = serde_json::json!([{"until_h": 48, "fee_pct": 5}]);
    assert_eq!(fee(&known(rules(), kinder.clone())), Ok(5));
    assert_eq!(fee(&known(kinder, rules())), Ok(5));
}

#[test]
fn a_sum_that_was_waived_is_not_refunded() {
    let (mut order, tickets) = order(OrderState::Ticketed, &[1_000, 2_000]);
    order.waived = 40;
    let terms = order_terms(&serde_json::json!([{"until_h": 0, "fee_pct": 0}]));
    let input = RefundInput {
        order: &order,
        tickets: &tickets,
        terms: &terms,
    };
    let all = plan_refund(&input, &TicketSelection::All, 0).expect("allowed");
    let all = all.expect("two tickets");
    assert_eq!((all.amount, all.uncharged), (2_960, 40));
}

/// Plans the refund of an order of one seat for 2,000. Of these, `amount` was carried over, of
/// which
/// `refundable` could be refunded.
fn refund_of_carried(
    (amount, refundable): (i64, i64),
    fee_pct: u32,
    fate: Option<ShowFate>,
) -> Result<(i64, i64), OrderRefundError> {
    let (mut order, tickets) = order(OrderState::Ticketed, &[2_000]);
    order.items[0].carried = CarriedMoney { amount, refundable };
    let terms = OrderTerms {
        fate,
        ..order_terms(&serde_json::json!([{"until_h": 0, "fee_pct": fee_pct}]))
    };
    let input = RefundInput {
        order: &order,
        tickets: &tickets,
        terms: &terms,
    };
    let plan = plan_refund(&input, &TicketSelection::All, 0)?;
    let plan = plan.expect("a ticket that may go back");
    Ok((plan.amount, plan.fee))
}

#[test]
fn carried_money_goes_back_by_the_lower_of_its_own_share_and_the_shows_rule() {
    let back = |carried, fee_pct| refund_of_carried(carried, fee_pct, None).expect("allowed");
    assert_eq!(back((2_000, 500), 10), (500, 1_500));
    assert_eq!(back((2_000, 1_900), 10), (1_800, 200));
    assert_eq!(
        back((1_500, 0), 10),
        (450, 1_550),
        "added money follows the show's rule"
    );
    let nothing = refund_of_carried((2_000, 0), 10, None);
    assert!(matches!(
        nothing,
        Err(OrderRefundError::Rule(RefundRuleError::CarriedOver))
    ));
}

#[test]
fn what_happens_to_a_show_after_an_exchange_frees_the_carried_money() {
    let postponed = |since_ms| ShowFate::Postponed {
        since_ms,
        refunds_until_ms: 5,
    };
    let back = |fate| refund_of_carried((1_500, 0), 10, Some(fate)).expect("allowed");
    assert_eq!(back(ShowFate::Cancelled), (2_000, 0));
    assert_eq!(back(postponed(1)), (2_000, 0));
    assert_eq!(back(postponed(-1)), (450, 1_550), "it was postponed before");
}

#[test]
fn a_refund_is_a_multiple_of_the_currencys_step() {
    let (mut order, tickets) = order(OrderState::Ticketed, &[5_120, 5_120]);
    order.currency = Currency::parse("KWD").expect("a currency");
    let terms = order_terms(&serde_json::json!([{"until_h": 0, "fee_pct": 15}]));
    let input = RefundInput {
        order: &order,
        tickets: &tickets,
        terms: &terms,
    };
    for (which, back) in [
        (TicketSelection::Named(vec![tickets[0].id.clone()]), 4_360),
        (TicketSelection::All, 8_720),
    ] {
        let plan = plan_refund(&input, &which, 0).expect("allowed");
        let plan = plan.expect("tickets that may go back");
        let price: i64 = plan.going.iter().map(|item| item.amount).sum();
        assert_eq!((plan.amount, plan.amount + plan.fee), (back, price));
    }
}

proptest! {
    /// Tickets go back one by one in any order, or all at once. The returned sum is never more than
    /// the paid sum, and every cent goes to the buyer or into the fee. The fees of single refunds
    /// together are never more than the fee of one refund of all tickets.
    #[test]
    fn every_cent_goes_back_or_is_the_fee(
        prices in proptest::collection::vec(0_i64..100_000, 1..6),
        fee_pct in 0_u32..=100,
        rounds in proptest::collection::vec(proptest::collection::vec(0_u32..6, 0..4), 1..6),
    ) {
        let rules = order_terms(&serde_json::json!([{"until_h": 1, "fee_pct": fee_pct}]));
        let (mut order, mut tickets) = order(OrderState::Ticketed, &prices);
        let seats = order.items.len();
        let (mut back, mut kept, mut gone) = (0, 0, 0);
        for round in rounds {
            let named = round.iter().filter(|seat| (**seat as usize) < seats);
            let named = named.map(|seat| TicketId::of_seat(&order.id, *seat)).collect();
            let input = RefundInput { order: &order, tickets: &tickets, terms: &rules };
            let Some(plan) = plan_refund(&input, &TicketSelection::Named(named), 0).expect("allowed") else { continue };
            prop_assert_eq!(plan.going.len(), plan.tickets.len());
            prop_assert_eq!(plan.staying.is_empty(), plan.decision.state == OrderState::Refunded);
            for ticket in &mut tickets {
                if plan.tickets.contains(&ticket.id) {
                    prop_assert_eq!(ticket.voided_at_ms.replace(1), None, "a ticket goes back once");
                }
            }
            (back, kept, gone) = (back + plan.amount, kept + plan.fee, gone + plan.going.len());
            order.state = plan.decision.state;
            order.items = plan.staying;
        }
        let remaining: i64 = order.items.iter().map(|item| item.amount).sum();
        prop_assert_eq!(back + kept + remaining, order.total);
        prop_assert_eq!(gone + order.items.len(), seats);
        let rule = RefundRuleInForce { fee_pct, until_ms: None, reason: RefundReason::ByBuyer };
        prop_assert!(kept <= rule.fee_for_price(order.currency.with_amount(order.total)));
    }
}

#[test]
fn what_went_back_at_the_provider_counts_for_the_last_tickets_until_it_is_settled() {
    let money = |left, uncovered, unsettled| MoneyOfOrder {
        left,
        uncovered,
        unsettled,
    };
    assert_eq!(money(200, 0, 0).owed(180, false), 180);
    assert_eq!(money(170, 30, 30).owed(180, false), 150);
    assert_eq!(money(170, 30, 0).owed(180, false), 170, "a present");
    assert_eq!(money(170, 30, 30).owed(90, true), 90, "other seats stay");
    assert_eq!(money(80, 120, 120).owed(90, true), 0, "never without money");
    assert_eq!(money(50, 150, 150).owed(180, false), 30);
    assert_eq!(money(0, 200, 200).owed(180, false), 0);
}
