//! The seam to the durable record: each method is one domain transaction, which is written as a
//! whole or not at all.
//!
//! **Architecture invariant:** SQL is written only under `ledger/sql`. Only the crate of both
//! databases names rusqlite or tokio-postgres; this folder names neither.

#[cfg(test)]
mod contract;
mod programme;
mod records;
pub mod sql;
mod stored;

use std::ops::Range;

use async_trait::async_trait;
pub use fairgate_databases::LedgerError;
use fairgate_pass::Holder;
pub use programme::*;
pub use records::*;

use crate::retention::RetentionKind;
use crate::store::SeatOutboxRow;
use fairgate_model::findings::OrderFacts;
use fairgate_model::ids::{
    HoldId, OrderId, PaymentId, RefundId, ShowId, TicketId, VenueId, WaiterId,
};
use fairgate_model::orders::exchange::Exchange;
use fairgate_model::orders::refund::{OwedRefund, TicketSelection};
use fairgate_model::orders::transition::OrderEvent;
use fairgate_model::orders::{Order, OrderRecord, Ticket};
use fairgate_model::payments::{CreatedPayment, ParsedProviderEvent, Payment};
use fairgate_model::shows::fate::ShowFate;
use fairgate_model::shows::terms::SaleTerms;
use fairgate_model::waiters::{WaitEndReason, Waiter, WaitlistOffer, WaitlistOfferEnd};

/// How long an effect is lent to one worker, in milliseconds: no other node carries the effect out
/// in this time. A worker whose call takes longer renews the loan. If the worker dies, another
/// worker repeats the call, and the provider recognises it by its key.
pub const EFFECT_LENT_MS: i64 = 5_000;

/// How long a captured payment must stay unchanged before it is read back from the provider, in
/// milliseconds. Each further reading waits twice as long, until [`TAKEN_READ_FOR_MS`].
pub const TAKEN_QUIET_MS: i64 = 3_600_000;

/// How long after its last change a captured payment is still read back, in milliseconds.
pub const TAKEN_READ_FOR_MS: i64 = 120 * 24 * 3_600_000;

/// How long a provider's event is lent to one worker, in milliseconds. If two workers settle the
/// same event, it is still applied once.
pub const EVENT_LENT_MS: i64 = 5_000;

/// How long a call under an `Idempotency-Key` belongs to one node without a renewal, in
/// milliseconds. If that node dies, another node may carry out the same call after this time, and
/// finds what was done.
pub const CALL_LENT_MS: i64 = 3_000;

/// How long a scan's key is valid, in milliseconds. A scanner that lost the answer repeats its scan
/// at once; a later scan of the same ticket is taken for another person.
pub const SCAN_KEY_MS: i64 = 60_000;

/// What all nodes over one ledger share.
#[async_trait]
pub trait CommonLedger: Send + Sync {
    /// Returns the ledger's id: it is made once, and no other ledger has it.
    async fn id(&self) -> Result<[u8; 32], LedgerError>;
    /// Returns the ledger's time, in milliseconds since the epoch.
    async fn now_ms(&self) -> Result<i64, LedgerError>;
    /// Makes a write to find out whether the database takes writes now.
    async fn check(&self) -> Result<(), LedgerError>;
    /// Takes or renews a named lease for `owner` until `ttl_ms` from now by the ledger's time;
    /// returns false while another owner has it. The owner must count `ttl_ms` from before this
    /// call.
    async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, LedgerError>;
    /// Gives a lease back before its end; a lease of another owner stays.
    async fn let_go(&self, name: &str, owner: &str) -> Result<(), LedgerError>;
}

/// Venues, shows, and which room covers which show.
#[async_trait]
pub trait CatalogueLedger: Send + Sync {
    /// Stores a plan as the venue's next version, unless the newest one is the same; returns the
    /// version.
    async fn put_venue(
        &self,
        venue: &VenueId,
        plan: String,
        digest: [u8; 32],
        now_ms: i64,
    ) -> Result<u32, LedgerError>;
    /// Returns the newest plan version of a venue.
    async fn newest_plan(&self, venue: &VenueId) -> Result<Option<u32>, LedgerError>;
    /// Returns the stored plan of a venue at a version.
    async fn plan(&self, venue: &VenueId, version: u32) -> Result<Option<String>, LedgerError>;
    /// Stores a show and returns the number of its terms. The terms in its document become a new
    /// version, unless the newest version is the same. `keeps` says which used seats the new plan
    /// leaves as they are; it is called only when the plan changes. The currency of a show cannot
    /// change once seats were sold.
    async fn put_show(
        &self,
        show: StoredShow,
        keeps: Option<UnchangedSeatCheck>,
        now_ms: i64,
    ) -> Result<u32, ShowRefused>;
    /// Stores a departure as a show, unless one with its id exists, and returns the stored one. The
    /// catalogue's version stays the same: nodes find new departures with [`Self::departures`].
    async fn open_departure(
        &self,
        departure: StoredShow,
        now_ms: i64,
    ) -> Result<StoredShow, LedgerError>;
    /// Returns stored departures with a number above `after`, in order. Later commits have larger
    /// numbers.
    async fn departures(
        &self,
        after: u64,
        batch_max: u32,
    ) -> Result<Vec<(u64, StoredShow)>, LedgerError>;
    /// Returns all shows except departures.
    async fn shows(&self) -> Result<Vec<StoredShow>, LedgerError>;
    /// Returns a version of a show's terms.
    async fn terms(&self, show: &ShowId, version: u32) -> Result<Option<SaleTerms>, LedgerError>;
    /// Replaces the list of (room, patterns).
    async fn put_coverage(&self, coverage: Vec<(String, Vec<String>)>) -> Result<(), LedgerError>;
    /// Returns the list of (room, patterns).
    async fn coverage(&self) -> Result<Vec<(String, Vec<String>)>, LedgerError>;
    /// Returns a number that grows with every change of a venue, a show or the coverage, on any
    /// node. This is cheap to ask.
    async fn catalogue_version(&self) -> Result<u64, LedgerError>;
    /// Returns a named secret of the installation; the first call stores `fresh` as the secret.
    async fn secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<[u8; 32], LedgerError>;
}

/// Tells whether a used seat is the same under the new plan.
pub type UnchangedSeatCheck = Box<dyn Fn(u32) -> bool + Send>;

/// Orders, claims and the seat outbox.
#[async_trait]
pub trait OrderLedger: Send + Sync {
    /// Returns the number of the show's next incarnation, larger than every earlier one.
    async fn next_incarnation(&self, show: &ShowId) -> Result<u64, LedgerError>;
    /// Returns the show's picture, to open the store with; claims that are being written are waited
    /// for. `lost` says that the data of every incarnation before this one are gone and that this
    /// one has begun in the store. From then on, claims that rest on locks of an earlier
    /// incarnation are refused, because nothing in the store would show them.
    async fn open_show(&self, show: &ShowId, lost: Option<u64>)
    -> Result<ShowPicture, LedgerError>;
    /// Writes transaction 1: claims, order, payment. The same order again returns the order as it
    /// is. An attempt is refused if its hold was given up ([`AuditLedger::give_up`]) after the
    /// order was made, by the time in the order.
    async fn claim(
        &self,
        order: Order,
        payment: Payment,
        basis: ClaimBasis,
    ) -> Result<Order, SeatClaimRefused>;
    /// Returns the visitor's order, pending or paid, that has seats of a show over exactly these
    /// legs.
    async fn order_over(
        &self,
        show: &ShowId,
        visitor: Holder,
        legs: Range<u16>,
    ) -> Result<Option<OrderId>, LedgerError>;
    /// Returns an order with its history, tickets and payment.
    async fn order(&self, order: &OrderId) -> Result<Option<OrderRecord>, LedgerError>;
    /// Applies an event to an order (transaction 2 among others); returns `None` if there is no
    /// such order.
    async fn happen(
        &self,
        order: &OrderId,
        happening: OrderEvent,
        now_ms: i64,
    ) -> Result<Option<OrderChangeOutcome>, LedgerError>;
    /// Expires up to `batch_max` pending orders whose claim is over, and returns them. An order is
    /// left alone while an event about its payment, stored in time, is not settled: the event may
    /// be the money.
    async fn expire_due(&self, now_ms: i64, batch_max: u32) -> Result<Vec<OrderId>, LedgerError>;
    /// Returns claims that stand beyond their deadline, ordered by deadline and then by order. Some
    /// wait for an event to be settled; the others have not been expired yet. `after` is the last
    /// claim of the previous batch.
    async fn overdue_claims(
        &self,
        now_ms: i64,
        after: Option<(i64, OrderId)>,
        batch_max: u32,
    ) -> Result<Vec<OverdueClaim>, LedgerError>;
    /// Numbers the committed outbox rows: by show, from 1, without gaps, and the rows of one cell
    /// in the order of their commits. Returns the shows that have undelivered rows, each with the
    /// number of its newest delivered row.
    async fn number_seat_rows(&self) -> Result<Vec<(ShowId, u64)>, LedgerError>;
    /// Returns a show's numbered outbox rows behind a cursor, in order.
    async fn seat_rows(
        &self,
        show: &ShowId,
        after: u64,
        batch_max: u32,
    ) -> Result<Vec<SeatOutboxRow>, LedgerError>;
    /// Marks a show's rows up to a number as delivered; a mark never goes back.
    async fn seat_rows_delivered(&self, show: &ShowId, upto: u64) -> Result<(), LedgerError>;
    /// Returns the number of a show's newest outbox row, 0 for none. A store with a higher cursor
    /// has seen another ledger.
    async fn seat_cursor(&self, show: &ShowId) -> Result<u64, LedgerError>;
    /// Returns visitors whose orders were ticketed, behind a cursor. Later commits have larger
    /// numbers, so a reader that keeps its cursor misses nobody.
    async fn finished(
        &self,
        after: u64,
        shows: Vec<ShowId>,
    ) -> Result<Vec<(u64, Holder)>, LedgerError>;
}

/// Payments: the inbox of events, and what is owed to the provider.
#[async_trait]
pub trait PaymentLedger: Send + Sync {
    /// Returns a payment.
    async fn payment(&self, payment: &PaymentId) -> Result<Option<Payment>, LedgerError>;
    /// Stores a raw event under its id, with the payment that it is about; returns false if it was
    /// stored before.
    async fn keep_event(
        &self,
        provider: &'static str,
        event: String,
        about: Option<PaymentId>,
        body: Vec<u8>,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
    /// Stores the provider's name for a payment and the data that the payment page needs. The first
    /// call's values stay and are returned.
    async fn payment_made(
        &self,
        payment: &PaymentId,
        made: CreatedPayment,
    ) -> Result<CreatedPayment, LedgerError>;
    /// Returns stored events that are to be settled, oldest first, and lends them to the caller: no
    /// other caller gets them for [`EVENT_LENT_MS`].
    async fn due_events(
        &self,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<StoredProviderEvent>, LedgerError>;
    /// Puts off settling an event to `due_at_ms`, and counts one more attempt.
    async fn put_off_event(
        &self,
        provider: String,
        event: String,
        due_at_ms: i64,
    ) -> Result<(), LedgerError>;
    /// Settles an event, as [`fairgate_model::orders::settling`] decides: writes the payment's
    /// state, the order's event and the outcome in one transaction. Checks the card's limit here,
    /// while every other sale to that card is shut out.
    async fn settle(
        &self,
        provider: String,
        event: String,
        says: ParsedProviderEvent,
        now_ms: i64,
    ) -> Result<&'static str, LedgerError>;
    /// Returns effects that are due, and lends them to the caller: no other caller gets them for
    /// [`EFFECT_LENT_MS`].
    async fn due_effects(
        &self,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<DuePaymentEffect>, LedgerError>;
    /// Renews the loan of an effect that is still being carried out, for [`EFFECT_LENT_MS`] from
    /// now.
    async fn lend_on(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// Records a successful capture: payment captured, tickets issued, order ticketed, effect done.
    async fn captured(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// Records that the provider refused the capture for good: order `capture_failed`, seats freed,
    /// effect done.
    async fn capture_refused(
        &self,
        effect: i64,
        why: String,
        now_ms: i64,
    ) -> Result<(), LedgerError>;
    /// Records that the authorisation was voided.
    async fn voided(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// Records that the payment to be voided had been captured: payment captured, effect done, and
    /// a refund owed instead.
    async fn refund_instead(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// Records that the provider could not refund the money. The effect is tried again at
    /// `due_at_ms`, and is a finding until it is done.
    async fn refund_failed(
        &self,
        effect: i64,
        due_at_ms: i64,
        why: String,
        now_ms: i64,
    ) -> Result<(), LedgerError>;
    /// Records that all the captured money went back: payment refunded, effect done.
    async fn refunded(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// Puts off an effect to `due_at_ms`.
    async fn put_off(&self, effect: i64, due_at_ms: i64, why: String) -> Result<(), LedgerError>;
    /// Refunds a part of captured money in the sandbox, once per refund id, and never more than was
    /// captured. Returns what has gone back so far, or `None` if nothing was captured.
    async fn sandbox_refund(
        &self,
        payment: &PaymentId,
        refund: &RefundId,
        amount: i64,
        captured: i64,
    ) -> Result<Option<i64>, LedgerError>;
    /// Returns what the sandbox has refunded of a payment in parts.
    async fn sandbox_refunded(&self, payment: &PaymentId) -> Result<i64, LedgerError>;
    /// Moves the sandbox's own state, if it is one of `from`; returns the state afterwards.
    async fn sandbox_move(
        &self,
        payment: &PaymentId,
        from: &'static [&'static str],
        to: &'static str,
    ) -> Result<String, LedgerError>;
    /// Returns how many events and how many effects wait, for metrics.
    async fn backlog(&self) -> Result<(u64, u64), LedgerError>;
}

/// Money that came after its order had expired.
#[async_trait]
pub trait LateMoneyLedger: Send + Sync {
    /// Returns expired orders whose late money is undecided and due. Each is due again only at
    /// `again_at_ms`, so that no two nodes look at the same order.
    async fn late_due(
        &self,
        now_ms: i64,
        again_at_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<OrderId>, LedgerError>;
    /// Decides once what an order's late money buys: writes claims, order, offer, outboxes, and the
    /// end of the search in one transaction. `basis` is needed if seats are claimed. If the card
    /// has bought its share already, the money goes back instead. Returns `None` if there is no
    /// such order.
    async fn late_settle(
        &self,
        order: &OrderId,
        outcome: LateMoneyOutcome,
        basis: Option<ClaimBasis>,
        now_ms: i64,
    ) -> Result<Option<OrderChangeOutcome>, SeatClaimRefused>;
}

/// Refunds of tickets, the money that goes back for them, and shows that are cancelled or
/// postponed.
#[async_trait]
pub trait RefundLedger: Send + Sync {
    /// Takes tickets back in one transaction: voids them, gives up exactly their claims, tells the
    /// store, owes the refund, and writes the reason to the order's history. The show's rules, as
    /// they stand in this transaction, decide how much goes back. Tickets that were given back
    /// before change nothing. Returns `None` if there is no such order.
    async fn refund(
        &self,
        order: &OrderId,
        which: TicketSelection,
        now_ms: i64,
    ) -> Result<Option<OrderChangeOutcome>, RefundRefused>;
    /// Returns refunds that are due and whose payment was captured, and lends them to the caller:
    /// no other caller gets them for [`EFFECT_LENT_MS`].
    async fn due_refunds(
        &self,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<OwedRefund>, LedgerError>;
    /// Renews the loan of a refund that is still being asked for, for [`EFFECT_LENT_MS`] from now.
    async fn lend_refund_on(&self, refund: &RefundId, now_ms: i64) -> Result<(), LedgerError>;
    /// Records that the money has gone back. If all money of the payment has gone back, the payment
    /// is refunded.
    async fn refund_done(&self, refund: &RefundId, now_ms: i64) -> Result<(), LedgerError>;
    /// Puts off asking for a refund to `due_at_ms`. `failed_at_ms` says that the provider could not
    /// do it; the refund is then a finding until it is done.
    async fn put_off_refund(
        &self,
        refund: &RefundId,
        due_at_ms: i64,
        why: String,
        failed_at_ms: Option<i64>,
    ) -> Result<(), LedgerError>;
    /// Writes a show's fate, and its new beginning if it is postponed. Returns false and writes
    /// nothing if there is no such show, or if it was cancelled before.
    async fn put_fate(
        &self,
        show: &ShowId,
        fate: ShowFate,
        starts_at: Option<String>,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
    /// Returns paid orders of cancelled shows with something to give back, oldest first.
    async fn orders_of_cancelled(&self, batch_max: u32) -> Result<Vec<OrderId>, LedgerError>;
    /// Returns a show's refunds in figures.
    async fn refund_figures(&self, show: &ShowId) -> Result<RefundFigures, LedgerError>;
}

/// Exchanges: seats of a paid order given for other seats.
#[async_trait]
pub trait ExchangeLedger: Send + Sync {
    /// Begins an exchange: claims the cells that the successor gains, as in transaction 1. If
    /// nothing is to pay, the same transaction swaps the seats; otherwise the capture does.
    ///
    /// The swap gives the new seats to the successor, gives up the old order's claims and tickets,
    /// and refunds what the old order's money exceeds the new price by. If the old order was
    /// scanned or changed in the meantime, the successor's money goes back and the old order stays
    /// as it is. The same successor again is the same success. Returns `None` if there is no such
    /// order.
    async fn exchange(
        &self,
        of: &OrderId,
        exchange: Exchange,
        basis: ClaimBasis,
        now_ms: i64,
    ) -> Result<Option<Order>, ExchangeRefused>;
}

/// What the reconciler looks at, and its repairs.
#[async_trait]
pub trait AuditLedger: Send + Sync {
    /// Returns orders that wait for something, and orders whose payment changed since `since_ms`
    /// and does not fit them.
    async fn order_facts(
        &self,
        since_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<OrderFacts>, LedgerError>;
    /// Returns payments that may still change and have not changed for `quiet_ms`, with the time of
    /// their last change. Those that were not returned for the longest come first, and the older a
    /// payment, the more seldom it is returned. A captured payment can change only by a refund: it
    /// is returned after [`TAKEN_QUIET_MS`] at the earliest, and captured payments fill a quarter
    /// of `batch_max` at most.
    async fn quiet_payments(
        &self,
        now_ms: i64,
        quiet_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<(Payment, i64)>, LedgerError>;
    /// Returns those of `holds` that no order has, and that no search of late money may still use.
    async fn without_order(&self, holds: Vec<HoldId>) -> Result<Vec<HoldId>, LedgerError>;
    /// Gives up every attempt to make an order of a hold that began by `now_ms`: its claim is
    /// refused from here on, as [`LedgerError::Unavailable`]. Returns false and gives up nothing if
    /// the order exists.
    async fn give_up(&self, hold: &HoldId, now_ms: i64) -> Result<bool, LedgerError>;
    /// Returns shows with unfinished work: orders that are not done, rows of the seat outbox,
    /// events, late money.
    async fn busy_shows(&self) -> Result<Vec<ShowId>, LedgerError>;
    /// Returns all claimed cells of a show.
    async fn claimed(&self, show: &ShowId) -> Result<Vec<ClaimedCell>, LedgerError>;
    /// Owes again the effects that the order's state asks for, or issues its tickets; returns false
    /// if nothing was missing.
    async fn mend(&self, order: &OrderId, now_ms: i64) -> Result<bool, LedgerError>;
}

/// Timetables: each is an immutable version, and the newest one counts.
#[async_trait]
pub trait TimetableLedger: Send + Sync {
    /// Stores a timetable as the next version, with the plans of its trains. Each plan becomes its
    /// venue's next version unless the newest one is the same. The newest timetable again, on the
    /// same plans, is the same version.
    async fn put_timetable(&self, new: NewTimetable, now_ms: i64) -> Result<u32, LedgerError>;
    /// Returns the newest version, if there is one. This is cheap to ask.
    async fn newest_timetable(&self) -> Result<Option<u32>, LedgerError>;
    /// Returns a version of the timetable.
    async fn timetable(&self, version: u32) -> Result<Option<StoredTimetable>, LedgerError>;
}

/// Tickets, and answers that are kept for repeated calls.
#[async_trait]
pub trait TicketLedger: Send + Sync {
    /// Returns a ticket.
    async fn ticket(&self, ticket: &TicketId) -> Result<Option<Ticket>, LedgerError>;
    /// Marks a ticket as scanned, unless it was scanned before or was given back. `by` is the
    /// digest of scanner and key: the same digest again within [`SCAN_KEY_MS`] still counts as the
    /// first scan.
    async fn scan(
        &self,
        ticket: &TicketId,
        by: Option<[u8; 32]>,
        now_ms: i64,
    ) -> Result<Option<TicketScanOutcome>, LedgerError>;
    /// Registers a call under its caller's key before anything is done for it. So only one of two
    /// different calls under one key ever acts, whichever nodes they reach. The call belongs to the
    /// node until [`CALL_LENT_MS`] from now: no other node may begin it in this time, and the node
    /// itself may begin it again.
    async fn begin_call(
        &self,
        call: KeyedCall,
        now_ms: i64,
    ) -> Result<BeginCallOutcome, LedgerError>;
    /// Extends a call that still belongs to the node until `until_ms`. A node gives back a call
    /// without a final answer by a time in the past: the call may then begin again at once, and the
    /// key still belongs to it.
    async fn lend_call(&self, call: KeyedCall, until_ms: i64) -> Result<(), LedgerError>;
    /// Keeps an answer, which ends the call; the first answer stays.
    async fn keep(
        &self,
        scope: [u8; 32],
        key: String,
        answer: KeptAnswer,
        now_ms: i64,
    ) -> Result<(), LedgerError>;
}

/// The waitlist: who waits in which order, and what each party was offered.
#[async_trait]
pub trait WaitlistLedger: Send + Sync {
    /// Puts a party at the end of its show's line and returns it. Its number is its place: by show,
    /// from 1, in the order of the commits. A visitor waits for a show once: a party that waits
    /// already is returned unchanged.
    async fn join_waitlist(&self, waiter: Waiter) -> Result<Waiter, LedgerError>;
    /// Returns a visitor's party, with how many parties stand before it: the waiting one, or else
    /// the one that ended last.
    async fn waiter(
        &self,
        show: &ShowId,
        visitor: Holder,
    ) -> Result<Option<(Waiter, u64)>, LedgerError>;
    /// Returns the parties that wait for a show, in line.
    async fn waiters(&self, show: &ShowId) -> Result<Vec<Waiter>, LedgerError>;
    /// Returns the shows that somebody waits for, each with its number of waiting parties.
    async fn waited_shows(&self) -> Result<Vec<(ShowId, u64)>, LedgerError>;
    /// Returns up to `most` visitors whose parties wait, those who have waited longest first.
    async fn waiting_visitors(&self, most: u32) -> Result<Vec<Holder>, LedgerError>;
    /// Records that these visitors were here at `now_ms`, with each party of theirs that waits.
    async fn waiters_seen(&self, visitors: Vec<Holder>, now_ms: i64) -> Result<(), LedgerError>;
    /// Records the offer made to a waiting party that has none; returns false if there is no such
    /// party.
    async fn offered(&self, waiter: &WaiterId, offer: WaitlistOffer) -> Result<bool, LedgerError>;
    /// Ends a party's offer; returns false if the party does not have this offer any more.
    async fn offer_over(
        &self,
        waiter: &WaiterId,
        hold: &HoldId,
        end: WaitlistOfferEnd,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
    /// Ends a party's waiting; returns false if it did not wait.
    async fn end_waiter(
        &self,
        waiter: &WaiterId,
        end: WaitEndReason,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
}

/// Deletes data that are older than they are kept.
#[async_trait]
pub trait RetentionLedger: Send + Sync {
    /// Deletes up to `batch_max` rows of a kind that are older at `now_ms` than the kind is kept,
    /// oldest first. `after` is 0 at first, and then the previous batch's [`PruneOutcome::next`].
    /// Rows that are still to be done, read or delivered stay, however old.
    async fn prune(
        &self,
        what: RetentionKind,
        after: i64,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<PruneOutcome, LedgerError>;
}

/// The whole ledger: everything that the application does with the durable record.
pub trait Ledger:
    CommonLedger
    + CatalogueLedger
    + ProgrammeLedger
    + OrderLedger
    + PaymentLedger
    + LateMoneyLedger
    + RefundLedger
    + ExchangeLedger
    + AuditLedger
    + TicketLedger
    + WaitlistLedger
    + TimetableLedger
    + RetentionLedger
    + 'static
{
}

impl<T> Ledger for T where
    T: CommonLedger
        + CatalogueLedger
        + ProgrammeLedger
        + OrderLedger
        + PaymentLedger
        + LateMoneyLedger
        + RefundLedger
        + ExchangeLedger
        + ExchangeLedger
        + AuditLedger
        + TicketLedger
        + WaitlistLedger
        + TimetableLedger
        + RetentionLedger
        + 'static
{
}
