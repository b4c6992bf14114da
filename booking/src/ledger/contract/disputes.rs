//! Cases of disputes: the buyer's bank takes money back, and then decides for one side.

use OrderState::{Refunded, Ticketed};
use fairgate_model::orders::refund::TicketSelection;
use fairgate_model::payments::returns::{DisputeState, ReturnOrigin, ReturnState, ReturnedSum};

use super::exchanging::try_exchange;
use super::refunding::{owed, seats_claimed, ticketed, with_free_refunds};
use super::returns::{at_provider, counts, payment_of, report, scanned};
use super::*;
use crate::ledger::{
    ExchangeRefused, MoneyFindingKind, OrderSettlement, RefundRefused, TicketScanOutcome,
};

pub(super) const CASES: &[Case] = cases![
    tickets_are_blocked_while_their_payment_is_disputed,
    a_lost_dispute_ends_the_order,
    refunds_of_a_cancelled_show_wait_for_the_dispute,
    a_part_that_was_lost_and_then_won_is_struck_out,
    money_of_an_ended_order_that_a_bank_gives_back_is_listed,
];

async fn tickets_are_blocked_while_their_payment_is_disputed(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    report(&ledger, &order, (vec![], Some(DisputeState::Open)), 5).await;
    assert_eq!(
        scanned(&ledger, &order, 0).await,
        TicketScanOutcome::Blocked(NOW_MS + 5)
    );
    assert_eq!(seats_claimed(&ledger).await, [0, 1], "the seats are kept");
    let refund = ledger
        .refund(&order.id, TicketSelection::All, NOW_MS + 6)
        .await;
    assert!(matches!(refund, Err(RefundRefused::Disputed)));
    let exchange = try_exchange(&ledger, &order, "b", &[(2, 0..2, 2_000)]).await;
    assert!(
        matches!(exchange, Err(ExchangeRefused::Disputed)),
        "{exchange:?}"
    );
    report(&ledger, &order, (vec![], Some(DisputeState::Won)), 7).await;
    // A second dispute blocks them again.
    report(&ledger, &order, (vec![], Some(DisputeState::Open)), 8).await;
    assert!(matches!(
        scanned(&ledger, &order, 0).await,
        TicketScanOutcome::Blocked(_)
    ));
    report(&ledger, &order, (vec![], Some(DisputeState::Won)), 9).await;
    assert!(matches!(
        scanned(&ledger, &order, 0).await,
        TicketScanOutcome::First(_)
    ));
    let steps = history(&ledger, &order).await;
    let reasons: Vec<&str> = steps.iter().map(|(_, reason)| reason.as_str()).collect();
    assert!(
        reasons.ends_with(&["dispute_opened", "dispute_won"]),
        "{reasons:?}"
    );
}

async fn a_lost_dispute_ends_the_order(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    report(&ledger, &order, (vec![], Some(DisputeState::Open)), 5).await;
    let lost = |amount| ReturnedSum {
        origin: ReturnOrigin::Dispute,
        ..at_provider("dp_1", amount)
    };
    report(
        &ledger,
        &order,
        (vec![lost(2_000)], Some(DisputeState::Lost)),
        6,
    )
    .await;
    let now = record(&ledger, &order).await;
    assert_eq!(
        (now.order.state, &*now.order.reason),
        (Refunded, "dispute_lost")
    );
    assert_eq!(seats_claimed(&ledger).await, [] as [u32; 0]);
    assert_eq!(payment_of(&ledger, &order).await.refunded, 2_000);
    // If only a part was disputed and lost, the tickets stay blocked until somebody settles it.
    let other = ticketed(&ledger, "b", BEN, &[2]).await;
    report(&ledger, &other, (vec![], Some(DisputeState::Open)), 7).await;
    report(
        &ledger,
        &other,
        (vec![lost(300)], Some(DisputeState::Lost)),
        8,
    )
    .await;
    assert!(matches!(
        scanned(&ledger, &other, 2).await,
        TicketScanOutcome::Blocked(_)
    ));
    assert_eq!(counts(&ledger).await, (1, 0));
    let goodwill = OrderSettlement::Goodwill {
        reason: "the buyer may come".to_owned(),
    };
    let settled = ledger.settle_order(&other.id, goodwill, NOW_MS + 9).await;
    settled.expect("allowed");
    assert!(matches!(
        scanned(&ledger, &other, 2).await,
        TicketScanOutcome::First(_)
    ));
}

async fn refunds_of_a_cancelled_show_wait_for_the_dispute(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0]).await;
    report(&ledger, &order, (vec![], Some(DisputeState::Open)), 5).await;
    let taken = ledger
        .refund(&order.id, TicketSelection::Unscanned, NOW_MS + 6)
        .await;
    assert!(taken.expect("allowed").expect("known").changed);
    assert_eq!(owed(&ledger, NOW_MS + 7).await.len(), 0);
    let lost = ReturnedSum {
        origin: ReturnOrigin::Dispute,
        ..at_provider("dp_1", 1_000)
    };
    report(&ledger, &order, (vec![lost], Some(DisputeState::Lost)), 8).await;
    assert_eq!(owed(&ledger, NOW_MS + 9).await.len(), 0);
    assert_eq!(
        ledger.backlog().await.expect("readable").1,
        0,
        "nothing is owed"
    );
    let other = ticketed(&ledger, "b", BEN, &[1]).await;
    report(&ledger, &other, (vec![], Some(DisputeState::Open)), 10).await;
    let taken = ledger
        .refund(&other.id, TicketSelection::Unscanned, NOW_MS + 11)
        .await;
    taken.expect("allowed");
    report(&ledger, &other, (vec![], Some(DisputeState::Won)), 12).await;
    assert_eq!(owed(&ledger, NOW_MS + 13).await.len(), 1, "it is sent now");
}

fn lost(id: &str, amount: i64) -> ReturnedSum {
    ReturnedSum {
        origin: ReturnOrigin::Dispute,
        ..at_provider(id, amount)
    }
}

fn won(id: &str, amount: i64) -> ReturnedSum {
    ReturnedSum {
        state: ReturnState::Failed,
        ..lost(id, amount)
    }
}

async fn a_part_that_was_lost_and_then_won_is_struck_out(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let (is_lost, is_won) = (Some(DisputeState::Lost), Some(DisputeState::Won));
    report(&ledger, &order, (vec![lost("dp_1", 300)], is_lost), 5).await;
    assert_eq!(counts(&ledger).await, (1, 0));
    assert!(
        matches!(
            scanned(&ledger, &order, 0).await,
            TicketScanOutcome::Blocked(_)
        ),
        "nobody saw it while it was open"
    );
    report(&ledger, &order, (vec![won("dp_1", 300)], is_won), 6).await;
    assert_eq!(counts(&ledger).await, (0, 0));
    assert_eq!(payment_of(&ledger, &order).await.refunded, 0);
    assert_eq!(record(&ledger, &order).await.order.state, Ticketed);
    assert!(matches!(
        scanned(&ledger, &order, 0).await,
        TicketScanOutcome::First(_)
    ));
}

async fn money_of_an_ended_order_that_a_bank_gives_back_is_listed(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0]).await;
    let (is_lost, is_won) = (Some(DisputeState::Lost), Some(DisputeState::Won));
    report(&ledger, &order, (vec![lost("dp_1", 1_000)], is_lost), 5).await;
    assert_eq!(record(&ledger, &order).await.order.state, Refunded);
    for n in 6..8 {
        report(&ledger, &order, (vec![won("dp_1", 1_000)], is_won), n).await;
    }
    assert_eq!(
        owed(&ledger, NOW_MS + 9).await.len(),
        0,
        "the buyer lost the dispute"
    );
    let open = ledger.open_money_findings(10).await.expect("readable");
    let [finding] = &open[..] else {
        panic!("one finding: {open:?}");
    };
    assert_eq!(finding.kind, MoneyFindingKind::UnknownMoney);
    assert_eq!(
        (finding.sum.amount, &finding.order),
        (1_000, &Some(order.id.clone()))
    );
    let settled = ledger.settle_unknown_money("dp_1".into(), "we keep it".into(), NOW_MS + 10);
    assert!(settled.await.expect("written"));
    report(&ledger, &order, (vec![won("dp_1", 1_000)], is_won), 11).await;
    assert_eq!(counts(&ledger).await, (0, 0), "it stays settled");
}
