//! Reads and writes the stored forms of values, which are the same in both databases.

use std::collections::HashSet;
use std::sync::Arc;

use fairgate_model::holds::{Hold, HoldPurpose, HoldStage, SeatOutboxAction, lock_until_ms};
use fairgate_model::ids::{HoldId, OrderId};
use fairgate_model::orders::refund::{Refund, RefundReason, RefundState};
use fairgate_model::orders::{Order, OrderItem};
use fairgate_model::runs::{self, TrainRun};
use fairgate_model::shows::fate::ShowFate;
use fairgate_model::shows::terms::{CategoryNames, SaleTerms};
use fairgate_model::stored_forms;
use fairgate_pass::Holder;
use serde::Serialize;

use super::{
    BeginCallOutcome, ClaimBasis, KeptAnswer, LedgerError, SCAN_KEY_MS, SeatClaimRefused,
    TicketScanOutcome,
};

/// The result type of the ledger's modules.
pub(super) type Result<T> = std::result::Result<T, LedgerError>;

pub(super) fn corrupt(description: &str) -> LedgerError {
    LedgerError::Corrupt(description.to_owned())
}

pub(super) fn parsed<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| corrupt(text))
}

pub(super) fn bytes32(bytes: &[u8]) -> Result<[u8; 32]> {
    bytes
        .try_into()
        .map_err(|_| corrupt("a value that is not 32 bytes"))
}

pub(super) fn holder_from_bytes(bytes: &[u8]) -> Result<Holder> {
    bytes32(bytes).map(Holder)
}

pub(super) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| corrupt(&error.to_string()))
}

pub(super) fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| corrupt(&error.to_string()))
}

/// Converts an unsigned count. Both databases store signed numbers, and every count here is far
/// below their limit.
pub(super) fn as_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn items_text(items: &[OrderItem]) -> Result<String> {
    stored_forms::items_text(items).map_err(|error| corrupt(&error.to_string()))
}

pub(super) fn items(text: &str) -> Result<Vec<OrderItem>> {
    stored_forms::items_of(text).map_err(|error| corrupt(&error.to_string()))
}

pub(super) fn stored_run(run: &TrainRun) -> Result<String> {
    runs::stored::run_text(run).map_err(|error| corrupt(&error.to_string()))
}

pub(super) fn run_of(text: &str) -> Result<Arc<TrainRun>> {
    runs::stored::run_of(text).map_err(|error| corrupt(&error.to_string()))
}

pub(super) fn seat_kind(word: &str) -> Result<SeatOutboxAction> {
    match word {
        "sell" => Ok(SeatOutboxAction::Sell),
        "free" => Ok(SeatOutboxAction::Free),
        other => Err(corrupt(other)),
    }
}

pub(super) fn seat_word(kind: SeatOutboxAction) -> &'static str {
    match kind {
        SeatOutboxAction::Sell => "sell",
        SeatOutboxAction::Free => "free",
    }
}

/// Returns the version of `terms`: the newest version if its terms are the same, or else the next
/// one. Also returns their text if they are a new version.
pub(super) fn next_terms(
    newest: Option<(u32, String)>,
    terms: &SaleTerms,
) -> Result<(u32, Option<String>)> {
    if let Some((version, text)) = newest {
        // Fares that no ride of the train has are not stored, so the stored forms are compared.
        let next = to_json(terms)?;
        if from_json::<SaleTerms>(&text)? == from_json(&next)? {
            return Ok((version, None));
        }
        return Ok((version + 1, Some(next)));
    }
    Ok((1, Some(to_json(terms)?)))
}

/// Returns the error for an order that took so long that its hold was given up.
pub(super) fn given_up_error() -> LedgerError {
    LedgerError::Unavailable("this attempt to order took too long and was given up".to_owned())
}

/// The state of a show that decides whether a visitor may claim seats.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShowClaimState {
    /// The plan version that the show pins; `None` if there is no such show.
    pub pinned: Option<u32>,
    /// The oldest incarnation whose locks count.
    pub claims_from: u64,
    /// Seats of the show that the visitor has.
    pub have: u32,
    /// Whether the show was cancelled.
    pub cancelled: bool,
    /// Whether the show begins at another time than the order's terms say.
    pub time_changed: bool,
}

/// Makes the checks of a claim that do not depend on its cells. Refuses the claim if the locks are
/// lost, the show was cancelled, pins another plan or begins at another time, or the visitor would
/// have too many seats.
pub(super) fn may_claim(
    order: &Order,
    show_state: ShowClaimState,
    basis: ClaimBasis,
) -> std::result::Result<(), SeatClaimRefused> {
    if basis.incarnation < show_state.claims_from {
        return Err(SeatClaimRefused::Superseded);
    }
    if show_state.cancelled {
        return Err(SeatClaimRefused::Cancelled);
    }
    if show_state.pinned != Some(order.plan_version) {
        return Err(SeatClaimRefused::PlanChanged);
    }
    if show_state.time_changed {
        return Err(SeatClaimRefused::TimeChanged);
    }
    let (have, limit) = (show_state.have, basis.limit);
    let wanted = u32::try_from(order.items.len()).unwrap_or(u32::MAX);
    if have.saturating_add(wanted) > limit {
        return Err(SeatClaimRefused::Limit { have, limit });
    }
    Ok(())
}

/// Fails if a seat's price is not the price in the terms. This happens if the caller calculated the
/// price with other terms.
pub(super) fn check_item_prices(
    items: &[OrderItem],
    terms: &SaleTerms,
    run: Option<&TrainRun>,
) -> Result<()> {
    let fits = |item: &OrderItem| {
        let names = CategoryNames {
            key: &item.category_key,
            label: &item.category,
        };
        terms.price(names, &item.held.legs, run) == Some(item.amount)
    };
    if items.iter().all(fits) {
        Ok(())
    } else {
        Err(corrupt("an order whose prices are not those of its terms"))
    }
}

/// Reads a show's fate from its stored form; most shows have none.
pub(super) fn read_fate(
    word: Option<String>,
    since_ms: Option<i64>,
    refunds_until_ms: Option<i64>,
) -> Result<Option<ShowFate>> {
    let since_ms = since_ms.unwrap_or(0);
    let read = |word: String| {
        ShowFate::from_stored(&word, since_ms, refunds_until_ms).ok_or_else(|| corrupt(&word))
    };
    word.map(read).transpose()
}

/// Returns the outcome for a call that may not begin. `found` is the key's row and whether the call
/// still waits for its answer. If the row was deleted in between, `found` is `None`, and the
/// caller's next attempt begins the call.
pub(super) fn call_outcome(
    call_digest: [u8; 32],
    found: Option<(KeptAnswer, bool)>,
) -> BeginCallOutcome {
    match found {
        Some((kept, _)) if kept.asked != call_digest => BeginCallOutcome::OtherCall,
        Some((kept, false)) => BeginCallOutcome::Answered(kept),
        Some((_, true)) | None => BeginCallOutcome::Running,
    }
}

/// Returns the outcome of a scan from the ticket's row after the scan. `is_own` says whether the
/// row holds this scan, or an earlier scan with the same key.
pub(super) fn scan_outcome(
    is_own: bool,
    scanned_at: Option<i64>,
    voided_at: Option<i64>,
    blocked_at: Option<i64>,
    now_ms: i64,
) -> Option<TicketScanOutcome> {
    match (scanned_at, voided_at) {
        (Some(at), _) if is_own && now_ms - at < SCAN_KEY_MS => Some(TicketScanOutcome::First(at)),
        (Some(at), _) => Some(TicketScanOutcome::Again(at)),
        (None, Some(at)) => Some(TicketScanOutcome::Void(at)),
        (None, None) => blocked_at.map(TicketScanOutcome::Blocked),
    }
}

/// One row of `refunds`: id, items, amount, fee, reason, and the times when it was made, done and
/// failed. The ninth value is the refund that this refund is a part of. Then come three figures of
/// the refund's parts: their amount, how many are not done, and how many of these have failed so
/// far. Then comes the sum that was covered by money that went back at the provider. The last value
/// counts the sums that went back there for this refund.
pub(super) type RefundRow = (
    String,
    String,
    i64,
    i64,
    String,
    i64,
    Option<i64>,
    Option<i64>,
    Option<String>,
    i64,
    i64,
    i64,
    i64,
    i64,
);

/// The columns of [`RefundRow`], read from a row `r` of `refunds`.
pub(super) const REFUND_COLUMNS: &str = "r.refund, r.items, r.amount, r.fee, r.reason, r.made_at, r.done_at, r.failed_at, r.part_of, \
     (SELECT CAST(COALESCE(SUM(x.amount), 0) AS BIGINT) FROM refunds x WHERE x.part_of = r.refund), \
     (SELECT COUNT(*) FROM refunds x WHERE x.part_of = r.refund AND x.done_at IS NULL), \
     (SELECT COUNT(*) FROM refunds x WHERE x.part_of = r.refund AND x.done_at IS NULL AND x.failed_at IS NOT NULL), r.covered, \
     (SELECT COUNT(*) FROM provider_returns x WHERE x.refund = r.refund AND x.came_back_at IS NULL)";

/// Reads a refund from its stored form.
pub(super) fn read_refund(row: RefundRow) -> Result<Refund> {
    let (
        id,
        items_json,
        amount,
        fee,
        reason,
        made_at_ms,
        done_at_ms,
        failed_at,
        part_of,
        elsewhere,
        open,
        failed,
        covered,
        at_provider,
    ) = row;
    let own_open = done_at_ms.is_none();
    Ok(Refund {
        id: parsed(&id)?,
        items: items(&items_json)?,
        amount,
        elsewhere,
        part_of: part_of.as_deref().map(parsed).transpose()?,
        fee,
        covered,
        at_provider: at_provider > 0,
        reason: RefundReason::parse(&reason).ok_or_else(|| corrupt(&reason))?,
        made_at_ms,
        done_at_ms,
        state: if failed > 0 || (own_open && failed_at.is_some()) {
            RefundState::Failed
        } else if open > 0 || own_open {
            RefundState::OnItsWay
        } else {
            RefundState::Done
        },
    })
}

/// How long the state of a created or declined payment is read from the provider, in milliseconds
/// from the payment's last change.
pub(super) const READ_FOR_MS: i64 = 24 * 3_600 * 1_000;

/// Returns those of `holds` that no undecided search for seats may use. `searches` are the orders
/// whose late money is to buy the seats.
pub(super) fn unsearched(mut holds: Vec<HoldId>, searches: &[OrderId]) -> Vec<HoldId> {
    let used: HashSet<HoldId> = searches
        .iter()
        .flat_map(HoldId::both_of_late_money)
        .collect();
    holds.retain(|hold| !used.contains(hold));
    holds
}

/// Returns the hold of an order that waits for payment or consent, with the order's own seats, as
/// the store must lock it.
pub(super) fn as_hold(order: &Order) -> Hold {
    Hold {
        id: order.hold.clone(),
        visitor: order.visitor,
        room: order.room.clone(),
        purpose: HoldPurpose::Basket,
        items: order.held_seats(),
        terms: order.terms,
        plan_version: order.plan_version,
        next_to_each_other: false,
        expires_at_ms: order.pay_until_ms,
        // The store does not hear of a deadline that moves, so it locks for the longest time. The
        // seats of an order that ends earlier are freed through the seat outbox.
        lock_until_ms: lock_until_ms(order.longest_claim_until_ms()),
        extensions_left: 0,
        stage: HoldStage::Ordered,
    }
}

/// Builds the list of rooms with their patterns from rows of (room, pattern), in the rows' order.
pub(super) fn coverage_by_room(rows: Vec<(String, String)>) -> Vec<(String, Vec<String>)> {
    let mut coverage: Vec<(String, Vec<String>)> = Vec::new();
    for (room, pattern) in rows {
        match coverage.last_mut() {
            Some((last, patterns)) if *last == room => patterns.push(pattern),
            _ => coverage.push((room, vec![pattern])),
        }
    }
    coverage
}
