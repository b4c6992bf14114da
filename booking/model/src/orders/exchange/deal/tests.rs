//! What exchanges cost, tested without a ledger.

use proptest::prelude::*;

use super::*;
use crate::holds::HeldSeat;
use crate::ids::{HoldId, OrderId, PaymentId, ShowId};
use crate::money::Currency;
use crate::orders::exchange::carried::with_carried_money;
use crate::orders::{Buyer, OrderState};
use crate::shows::terms::SaleTerms;

const HOUR_MS: i64 = 3_600_000;

/// Terms of a show that begins 100 hours after the epoch.
fn terms(exchange: &serde_json::Value, refunds: &serde_json::Value) -> SaleTerms {
    let terms = serde_json::json!({
        "currency": "EUR", "prices": {"cat1": 5_000}, "starts_at": "1970-01-05T04:00:00Z",
        "refunds": refunds, "exchange": exchange,
    });
    serde_json::from_value(terms).expect("valid terms")
}

fn both(original: SaleTerms, present: SaleTerms) -> OrderTerms {
    OrderTerms {
        original,
        present,
        run: None,
        fate: None,
    }
}

fn order_terms(exchange: &serde_json::Value, refunds: &serde_json::Value) -> OrderTerms {
    let terms = terms(exchange, refunds);
    both(terms.clone(), terms)
}

fn order(paid: i64, waived: i64) -> Order {
    let show: ShowId = "night-1".parse().expect("a slug");
    let visitor = fairgate_pass::Holder([1; 32]);
    let hold = HoldId::of_key(&show, visitor, "k");
    let id = OrderId::of_hold(&hold);
    let item = OrderItem {
        held: HeldSeat {
            seat: 0,
            legs: 0..1,
        },
        amount: paid,
        label: "A-1".to_owned(),
        category: "Stalls".to_owned(),
        category_key: "cat1".to_owned(),
        traveller: None,
        carried: CarriedMoney::default(),
    };
    Order {
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
        total: paid - waived,
        items: vec![item],
        plan_version: 1,
        terms: 1,
        waived,
        state: OrderState::Ticketed,
        reason: String::new(),
        created_at_ms: 0,
        pay_until_ms: 0,
        full_pay_until_ms: 0,
        claim_until_ms: 0,
        full_claim_until_ms: 0,
        id,
    }
}

#[track_caller]
fn check(
    terms: &OrderTerms,
    paid: i64,
    price: i64,
    now_h: i64,
) -> Result<ExchangeCost, ExchangeRuleError> {
    exchange_cost(&order(paid, 0), terms, price, 50, now_h * HOUR_MS)
}

/// Returns what an exchange of non-refundable seats for 5,000 costs if the new seats cost `price`.
fn cost(price: i64, due: i64, back: i64, fee: i64) -> ExchangeCost {
    ExchangeCost {
        due,
        back,
        fee,
        waived: 0,
        carried: CarriedMoney {
            amount: price.min(5_000),
            refundable: 0,
        },
    }
}

#[test]
fn without_an_exchange_rule_an_exchange_is_refused() {
    let none = order_terms(&serde_json::Value::Null, &serde_json::json!([]));
    assert_eq!(
        check(&none, 5_000, 6_000, 1),
        Err(ExchangeRuleError::NotOffered)
    );
}

#[test]
fn exchanges_end_until_h_hours_before_the_show() {
    let rule = order_terms(&serde_json::json!({"until_h": 2}), &serde_json::json!([]));
    assert!(check(&rule, 5_000, 5_000, 97).is_ok());
    let over = Err(ExchangeRuleError::Over {
        until_ms: 98 * HOUR_MS,
    });
    assert_eq!(check(&rule, 5_000, 5_000, 98), over);
}

#[test]
fn dearer_seats_cost_the_difference_and_the_fee() {
    let rule = order_terms(&serde_json::json!({"fee": 300}), &serde_json::json!([]));
    assert_eq!(
        check(&rule, 5_000, 6_000, 1),
        Ok(cost(6_000, 1_300, 0, 300))
    );
    assert_eq!(check(&rule, 5_000, 5_000, 1), Ok(cost(5_000, 300, 0, 300)));
}

#[test]
fn for_cheaper_seats_the_buyer_gets_back_what_the_rule_allows() {
    let refunds = serde_json::json!([{"until_h": 48, "fee_pct": 10}]);
    let cheaper = |word: &str, now_h| {
        let rule = order_terms(&serde_json::json!({"cheaper": word}), &refunds);
        check(&rule, 5_000, 1_000, now_h).map(|deal| (deal.due, deal.back))
    };
    assert_eq!(cheaper("refund", 1), Ok((0, 4_000)));
    assert_eq!(cheaper("keep", 1), Ok((0, 0)));
    assert_eq!(cheaper("refund_rule", 1), Ok((0, 3_600)));
    assert_eq!(
        cheaper("refund_rule", 60),
        Ok((0, 0)),
        "all refund rules have ended"
    );
}

#[test]
fn the_fee_is_taken_from_what_goes_back_and_the_rest_of_the_fee_is_due() {
    let rule = |fee: i64| {
        let exchange = serde_json::json!({"fee": fee, "cheaper": "refund"});
        order_terms(&exchange, &serde_json::json!([]))
    };
    assert_eq!(
        check(&rule(300), 5_000, 4_000, 1),
        Ok(cost(4_000, 0, 700, 300))
    );
    assert_eq!(
        check(&rule(1_300), 5_000, 4_000, 1),
        Ok(cost(4_000, 300, 0, 1_300))
    );
}

#[test]
fn the_terms_that_are_better_for_the_buyer_apply_whether_old_or_new() {
    let none = || terms(&serde_json::Value::Null, &serde_json::json!([]));
    let refund = || {
        let exchange = serde_json::json!({"cheaper": "refund"});
        terms(&exchange, &serde_json::json!([]))
    };
    let keep = || {
        let exchange = serde_json::json!({"cheaper": "keep", "fee": 100});
        terms(&exchange, &serde_json::json!([]))
    };
    for known in [
        both(refund(), none()),
        both(none(), refund()),
        both(keep(), refund()),
        both(refund(), keep()),
    ] {
        assert_eq!(check(&known, 5_000, 4_000, 1), Ok(cost(4_000, 0, 1_000, 0)));
    }
}

/// Returns an order for 5,000 that was carried over, of which `refundable` could be refunded.
fn carried_order(refundable: i64) -> Order {
    let mut order = order(5_000, 0);
    order.items[0].carried = CarriedMoney {
        amount: 5_000,
        refundable,
    };
    order
}

#[test]
fn the_share_that_is_refundable_on_the_day_of_the_exchange_is_carried_over() {
    let refunds = serde_json::json!([{"until_h": 48, "fee_pct": 10}]);
    let rule = order_terms(&serde_json::json!({}), &refunds);
    let carried = |order: &Order, price, now_h| {
        let deal = exchange_cost(order, &rule, price, 50, now_h * HOUR_MS).expect("offered");
        (deal.back, deal.carried.amount, deal.carried.refundable)
    };
    assert_eq!(carried(&order(5_000, 0), 6_000, 1), (0, 5_000, 4_500));
    assert_eq!(carried(&order(5_000, 0), 1_000, 1), (3_600, 1_000, 900));
    assert_eq!(
        carried(&order(5_000, 0), 6_000, 60),
        (0, 5_000, 0),
        "too late"
    );
    // A second exchange keeps the lower share, and returns no more of the difference.
    assert_eq!(carried(&carried_order(500), 6_000, 1), (0, 5_000, 500));
    assert_eq!(carried(&carried_order(500), 1_000, 1), (400, 1_000, 100));
    assert_eq!(carried(&carried_order(5_000), 6_000, 1), (0, 5_000, 4_500));
}

#[test]
fn a_show_that_returns_the_whole_difference_does_not_free_carried_money() {
    let rule = order_terms(
        &serde_json::json!({"cheaper": "refund"}),
        &serde_json::json!([]),
    );
    let back = |terms: &OrderTerms, order: &Order| {
        let deal = exchange_cost(order, terms, 1_000, 50, 0).expect("offered");
        deal.back
    };
    assert_eq!(back(&rule, &order(5_000, 0)), 4_000);
    assert_eq!(back(&rule, &carried_order(500)), 400);
    let cancelled = OrderTerms {
        fate: Some(crate::shows::fate::ShowFate::Cancelled),
        ..rule
    };
    assert_eq!(back(&cancelled, &carried_order(0)), 4_000);
}

#[test]
fn a_quote_names_the_most_that_is_kept_of_the_difference() {
    let refunds = serde_json::json!([{"until_h": 48, "fee_pct": 10}]);
    let rule = order_terms(&serde_json::json!({}), &refunds);
    let kept_pct = |order: &Order| exchange_quote(&rule, order, 0).expect("offered").kept_pct;
    assert_eq!(kept_pct(&order(5_000, 0)), 10);
    assert_eq!(kept_pct(&carried_order(500)), 90);
    assert_eq!(kept_pct(&carried_order(5_000)), 10);
}

#[test]
fn until_h_is_counted_from_the_later_of_the_original_and_the_present_start() {
    let rule = || terms(&serde_json::json!({"until_h": 2}), &serde_json::json!([]));
    let mut later = rule();
    later.starts_at = "1970-01-06T04:00:00Z".parse().expect("a time");
    assert!(check(&both(rule(), later.clone()), 5_000, 5_000, 121).is_ok());
    assert!(check(&both(later, rule()), 5_000, 5_000, 121).is_ok());
}

#[test]
fn a_difference_below_the_providers_smallest_sum_is_waived_and_due_in_the_next_exchange() {
    let rule = order_terms(&serde_json::json!({}), &serde_json::json!([]));
    let first = exchange_cost(&order(5_000, 0), &rule, 5_040, 50, 0).expect("offered");
    assert_eq!((first.due, first.waived), (0, 40));
    let second = exchange_cost(&order(5_040, 40), &rule, 5_080, 50, 0).expect("offered");
    assert_eq!((second.due, second.waived), (80, 0));
}

#[test]
fn what_is_due_and_what_goes_back_are_multiples_of_the_currencys_step() {
    let kwd = |exchange: serde_json::Value| {
        let refunds = serde_json::json!([{"until_h": 1, "fee_pct": 15}]);
        let mut terms = terms(&exchange, &refunds);
        terms.currency = Currency::parse("KWD").expect("a currency");
        both(terms.clone(), terms)
    };
    let check = |terms: &OrderTerms, price| {
        let mut paid = order(10_120, 0);
        paid.currency = terms.original.currency;
        let deal = exchange_cost(&paid, terms, price, 50, 0).expect("offered");
        (deal.due, deal.back, deal.fee)
    };
    // 15 % of 5.120 are 0.768, and 4.352 could never be refunded.
    let by_rule = kwd(serde_json::json!({}));
    assert_eq!(check(&by_rule, 5_000), (0, 4_360, 0));
    // The terms may be older than the check of a show's fee.
    let odd_fee = kwd(serde_json::json!({"cheaper": "refund", "fee": 305}));
    assert_eq!(check(&odd_fee, 5_000), (0, 4_820, 300));
    assert_eq!(check(&odd_fee, 11_120), (1_300, 0, 300));
    let quote = exchange_quote(&odd_fee, &order(10_120, 0), 0);
    assert_eq!(quote.expect("offered").fee, 300);
}

/// A show in a chain of exchanges: its refund fee, or none if it takes nothing back.
fn show_terms(fee_pct: Option<u32>) -> OrderTerms {
    let rules = fee_pct.map(|fee_pct| serde_json::json!({"until_h": 1, "fee_pct": fee_pct}));
    let rules: Vec<serde_json::Value> = rules.into_iter().collect();
    order_terms(&serde_json::json!({}), &rules.into())
}

proptest! {
    /// However often seats are exchanged, each show on the way keeps its fee of all that was paid
    /// until then, and the last refund never gives that back.
    #[test]
    fn a_chain_of_exchanges_returns_no_more_than_any_show_on_the_way_would(
        paid in 1_i64..100_000,
        shows in proptest::collection::vec((proptest::option::of(0_u32..=100), 0_i64..50_000), 1..6),
    ) {
        let mut order = order(paid, 0);
        let mut kept_most = 0;
        for (fee_pct, added) in &shows {
            let before = order.items[0].amount;
            kept_most = kept_most.max(before * i64::from(fee_pct.unwrap_or(100)) / 100);
            let deal = exchange_cost(&order, &show_terms(*fee_pct), before + added, 0, 0).expect("offered");
            order.items[0].amount += added;
            order.items = with_carried_money(&order.items, deal.carried, order.currency);
        }
        let last = in_force(&show_terms(Some(0)), &order, 0).expect("in force");
        let back = last.split_price(&order, &order.items).amount;
        // Fees of carried and of added money are rounded one by one, in the buyer's favour.
        let rounded = i64::try_from(shows.len()).expect("few");
        prop_assert!(back <= order.items[0].amount - kept_most + rounded);
    }

    #[test]
    fn an_exchange_before_a_refund_never_returns_more_than_the_refund_alone(
        paid in 1_i64..100_000, price in 0_i64..100_000, fee_pct in 0_u32..=100, fee in 0_i64..1_000,
    ) {
        let refunds = serde_json::json!([{"until_h": 1, "fee_pct": fee_pct}]);
        let terms = order_terms(&serde_json::json!({"fee": fee}), &refunds);
        let deal = exchange_cost(&order(paid, 0), &terms, price, 0, 0).expect("offered");
        let rule = in_force(&terms, &order(paid, 0), 0).expect("in force");
        let fee = |price| rule.fee_for_price(Currency::EUR.with_amount(price));
        let exchanged_and_refunded = deal.back - deal.due + price - fee(price);
        // With an exchange, two amounts are rounded in the buyer's favour instead of one.
        prop_assert!(exchanged_and_refunded <= paid - fee(paid) + 1);
        prop_assert!(deal.due >= 0 && deal.back >= 0 && (deal.due == 0 || deal.back == 0));
    }
}
