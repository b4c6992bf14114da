//! The traits of the ledger, booking's durable record. Each method is one domain transaction: all
//! of its changes are written, or none.
//!
//! **Architecture invariant:** SQL is written only under `ledger/sql`. Only the crate
//! `fairgate-databases` names rusqlite and tokio-postgres; this folder names neither outside its
//! tests.

#[cfg(test)]
mod contract;
mod programme;
mod records;
pub mod sql;
mod stopped_passes;
mod stored;

use std::fs::File;
use std::ops::Range;

use async_trait::async_trait;
pub use fairgate_databases::LedgerError;
use fairgate_pass::Holder;
pub use programme::*;
pub use records::*;
pub use stopped_passes::*;

use crate::dump::lines::DumpFailed;
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
use fairgate_model::venues::VenueLocation;
use fairgate_model::waiters::{WaitEndReason, Waiter, WaitlistOffer, WaitlistOfferEnd};

/// How long an effect (an owed call to the payment provider) is lent to one worker, in
/// milliseconds. No other node makes the call in this time. A worker whose call takes longer renews
/// the loan. If the worker dies, another worker repeats the call, and the provider recognises the
/// repeated call by its key.
pub const EFFECT_LENT_MS: i64 = 5_000;

/// How long a captured payment must stay unchanged before its state is read from the provider, in
/// milliseconds. Each further read waits twice as long as the read before. After
/// [`TAKEN_READ_FOR_MS`] the state is no longer read.
pub const TAKEN_QUIET_MS: i64 = 3_600_000;

/// How long after its last change the state of a captured payment is still read from the provider,
/// in milliseconds.
pub const TAKEN_READ_FOR_MS: i64 = 120 * 24 * 3_600_000;

/// How long a provider's event is lent to one worker, in milliseconds. If two workers settle the
/// same event, the event is still applied once.
pub const EVENT_LENT_MS: i64 = 5_000;

/// How long a call under an `Idempotency-Key` belongs to one node without a renewal, in
/// milliseconds. If the node dies, another node may carry out the same call after this time. The
/// other node then finds what the first node wrote.
pub const CALL_LEASE_MS: i64 = 3_000;

/// How long a scan's key is valid, in milliseconds. A scanner that lost the answer repeats its scan
/// at once. A later scan of the same ticket counts as the scan of another person.
pub const SCAN_KEY_MS: i64 = 60_000;

/// The id, the time and the leases that all nodes of one ledger share.
#[async_trait]
pub trait CommonLedger: Send + Sync {
    /// Returns the ledger's id, which is made once. No other ledger has the same id.
    async fn id(&self) -> Result<[u8; 32], LedgerError>;
    /// Returns the ledger's time, in milliseconds since the epoch.
    async fn now_ms(&self) -> Result<i64, LedgerError>;
    /// Makes a write to find out whether the database takes writes now.
    async fn check(&self) -> Result<(), LedgerError>;
    /// Takes or renews a named lease for `owner`. The lease ends after `ttl_ms` by the ledger's
    /// time. Returns false while another owner has the lease. The owner must count `ttl_ms` from a
    /// moment before this call.
    async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, LedgerError>;
    /// Ends a lease of `owner` early. A lease of another owner stays.
    async fn end_lease(&self, name: &str, owner: &str) -> Result<(), LedgerError>;
}

/// Venues, shows and secrets, and which room covers which show.
#[async_trait]
pub trait CatalogueLedger: Send + Sync {
    /// Stores a plan as the venue's next version and returns the version. If the newest plan is the
    /// same, returns its version and stores no plan. Replaces the venue's location.
    async fn put_venue(
        &self,
        venue: &VenueId,
        plan: NewVenuePlan,
        location: VenueLocation,
        now_ms: i64,
    ) -> Result<u32, LedgerError>;
    /// Returns the locations of all venues of which something is known.
    async fn venue_locations(&self) -> Result<Vec<(VenueId, VenueLocation)>, LedgerError>;
    /// Returns the newest plan version of a venue.
    async fn newest_plan(&self, venue: &VenueId) -> Result<Option<u32>, LedgerError>;
    /// Returns the stored plan of a venue at a version.
    async fn plan(&self, venue: &VenueId, version: u32) -> Result<Option<String>, LedgerError>;
    /// Stores a show and returns the number of its terms. The terms in its document become a new
    /// version, unless the newest version is the same. `keeps` returns whether the new plan leaves
    /// a claimed seat as it is. `None` means that the plan stays the same or the show is new. The
    /// currency of a show cannot change while orders have seats.
    async fn put_show(
        &self,
        show: StoredShow,
        keeps: Option<UnchangedSeatCheck>,
        now_ms: i64,
    ) -> Result<u32, ShowRefused>;
    /// Stores a departure as a show and returns the stored show. If a show with its id exists,
    /// returns that show and stores nothing. The catalogue's version stays the same: nodes find new
    /// departures with [`Self::departures`].
    async fn open_departure(
        &self,
        departure: StoredShow,
        now_ms: i64,
    ) -> Result<StoredShow, LedgerError>;
    /// Returns stored departures with a number above `after`, in order. Later commits have larger
    /// numbers. A departure that is cancelled or postponed gets a new number.
    async fn departures(
        &self,
        after: u64,
        batch_max: u32,
    ) -> Result<Vec<(u64, StoredShow)>, LedgerError>;
    /// Returns all shows except departures.
    async fn shows(&self) -> Result<Vec<StoredShow>, LedgerError>;
    /// Returns a version of a show's terms.
    async fn terms(&self, show: &ShowId, version: u32) -> Result<Option<SaleTerms>, LedgerError>;
    /// Replaces the list of rooms, each with the patterns of the shows that it covers.
    async fn put_coverage(&self, coverage: Vec<(String, Vec<String>)>) -> Result<(), LedgerError>;
    /// Returns the list of rooms, each with the patterns of the shows that it covers.
    async fn coverage(&self) -> Result<Vec<(String, Vec<String>)>, LedgerError>;
    /// Returns a number that grows whenever a node changes a venue, a show, the timetable, the
    /// programme or the coverage. Opening a departure does not change it. This call is cheap.
    async fn catalogue_version(&self) -> Result<u64, LedgerError>;
    /// Returns a named secret of the installation; the first call stores `fresh` as the secret.
    async fn secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<[u8; 32], LedgerError>;
}

/// A seating plan as it is stored.
#[derive(Debug, Clone)]
pub struct NewVenuePlan {
    /// The plan as JSON.
    pub plan: String,
    /// SHA-256 of that text.
    pub digest: [u8; 32],
}

/// A function that returns whether a claimed seat is the same under the new plan.
pub type UnchangedSeatCheck = Box<dyn Fn(u32) -> bool + Send>;

/// Orders, claims and the seat outbox.
#[async_trait]
pub trait OrderLedger: Send + Sync {
    /// Takes the number of the show's next incarnation and returns it. The number is larger than
    /// every number taken before. Returns 1 if there is no such show.
    async fn next_incarnation(&self, show: &ShowId) -> Result<u64, LedgerError>;
    /// Returns the show's picture, with which the store is opened. It first waits for claims that
    /// are being written. `lost` is the incarnation that has begun in the store after the data of
    /// all earlier incarnations were lost. From then on, claims that rest on locks of an earlier
    /// incarnation are refused, because the store no longer has these locks.
    async fn open_show(&self, show: &ShowId, lost: Option<u64>)
    -> Result<ShowPicture, LedgerError>;
    /// Writes transaction 1: claims, order, payment. An order that costs nothing gets its tickets
    /// in the same transaction. If the order exists already, returns it as it is. Refuses an order
    /// whose hold was given up ([`AuditLedger::give_up`]) when the order was made or later.
    async fn claim(
        &self,
        order: Order,
        payment: Payment,
        basis: ClaimBasis,
    ) -> Result<Order, SeatClaimRefused>;
    /// Returns an order of the visitor, pending or paid, that has a seat of the show on exactly
    /// these legs.
    async fn order_over(
        &self,
        show: &ShowId,
        visitor: Holder,
        legs: Range<u16>,
    ) -> Result<Option<OrderId>, LedgerError>;
    /// Returns an order with its history, tickets and payment.
    async fn order(&self, order: &OrderId) -> Result<Option<OrderRecord>, LedgerError>;
    /// Applies an event to an order; returns `None` if there is no such order.
    async fn apply_event(
        &self,
        order: &OrderId,
        event: OrderEvent,
        now_ms: i64,
    ) -> Result<Option<OrderChangeOutcome>, LedgerError>;
    /// Expires orders that still wait for payment or consent at their claim's deadline, at most
    /// `batch_max` of them, and returns their ids. An order stays as it is while it has an
    /// unsettled event that was stored by the deadline, because the event may report a payment.
    async fn expire_due(&self, now_ms: i64, batch_max: u32) -> Result<Vec<OrderId>, LedgerError>;
    /// Returns claims that still exist after their deadline, ordered by deadline and then by order.
    /// Some of their orders wait until an event is settled. The others will be expired by the next
    /// [`Self::expire_due`]. `after` is the last claim of the previous batch.
    async fn overdue_claims(
        &self,
        now_ms: i64,
        after: Option<(i64, OrderId)>,
        batch_max: u32,
    ) -> Result<Vec<OverdueClaim>, LedgerError>;
    /// Numbers the committed rows of the seat outbox. The numbers of each show begin at 1 and have
    /// no gaps. The rows of one cell are numbered in the order of their commits. Returns the shows
    /// that have undelivered rows, each with the number of its newest delivered row.
    async fn number_seat_rows(&self) -> Result<Vec<(ShowId, u64)>, LedgerError>;
    /// Returns a show's outbox rows with a number above `after`, in order.
    async fn seat_rows(
        &self,
        show: &ShowId,
        after: u64,
        batch_max: u32,
    ) -> Result<Vec<SeatOutboxRow>, LedgerError>;
    /// Marks a show's rows up to a number as delivered. A smaller number than the marked one
    /// changes nothing.
    async fn seat_rows_delivered(&self, show: &ShowId, upto: u64) -> Result<(), LedgerError>;
    /// Returns the number of a show's newest numbered outbox row, or 0 if it has none. A store with
    /// a larger cursor has read rows that this ledger does not have.
    async fn seat_cursor(&self, show: &ShowId) -> Result<u64, LedgerError>;
    /// Returns visitors whose orders of these shows were ticketed, each with a number above
    /// `after`. Later commits have larger numbers, so a reader that remembers the largest number
    /// misses nobody.
    async fn finished(
        &self,
        after: u64,
        shows: Vec<ShowId>,
    ) -> Result<Vec<(u64, Holder)>, LedgerError>;
}

/// Payments: the providers' events that are to be settled, and the owed calls to providers.
#[async_trait]
pub trait PaymentLedger: Send + Sync {
    /// Returns a payment.
    async fn payment(&self, payment: &PaymentId) -> Result<Option<Payment>, LedgerError>;
    /// Stores a raw event under its id, with the payment that it names; returns false if the event
    /// was stored before.
    async fn keep_event(
        &self,
        provider: &'static str,
        event: String,
        about: Option<PaymentId>,
        body: Vec<u8>,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
    /// Stores the id that the provider gave to a payment, and the data that the payment page needs.
    /// The first call's values stay and are returned.
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
    /// Settles an event, as [`fairgate_model::orders::settling`] decides, and returns the outcome
    /// as a stable code. Writes the payment's state, the order's step and the outcome in one
    /// transaction. It also checks the card's limit. Until the transaction ends, no other
    /// transaction can sell seats of the show to this card.
    async fn settle(
        &self,
        provider: String,
        event: String,
        parsed: ParsedProviderEvent,
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
    async fn renew_lease(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// Records a successful capture: the payment is captured, the effect is done, the order is
    /// ticketed and its tickets are issued. For the successor of an exchange, the capture swaps the
    /// seats ([`ExchangeLedger`]).
    async fn captured(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// Records that the provider refused the capture for good: the order is `capture_failed`, its
    /// seats are free, and the effect is done.
    async fn capture_refused(
        &self,
        effect: i64,
        why: String,
        now_ms: i64,
    ) -> Result<(), LedgerError>;
    /// Records that the authorisation was voided: the payment is voided, and the effect is done.
    async fn voided(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// Records that the provider captured the payment before the void. The payment is captured, the
    /// effect is done, and a refund is owed instead.
    async fn refund_instead(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// Records that the provider could not refund the money. The effect is tried again at
    /// `due_at_ms`. Until it is done, the reconciler reports it as a finding.
    async fn refund_failed(
        &self,
        effect: i64,
        due_at_ms: i64,
        why: String,
        now_ms: i64,
    ) -> Result<(), LedgerError>;
    /// Records that all the captured money was refunded: the payment is refunded, and the effect is
    /// done.
    async fn refunded(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// Puts off an effect to `due_at_ms`, and counts one more attempt.
    async fn put_off(&self, effect: i64, due_at_ms: i64, why: String) -> Result<(), LedgerError>;
    /// Refunds a part of captured money in the sandbox, once per refund id, and never more than was
    /// captured. Returns the sum of all refunds so far. Returns `None` and refunds nothing if
    /// nothing was captured or too little is left.
    async fn sandbox_refund(
        &self,
        payment: &PaymentId,
        refund: &RefundId,
        amount: i64,
        captured: i64,
    ) -> Result<Option<i64>, LedgerError>;
    /// Returns the sum of a payment's partial refunds in the sandbox.
    async fn sandbox_refunded(&self, payment: &PaymentId) -> Result<i64, LedgerError>;
    /// Sets the sandbox's own state of a payment to `to`, if the state is one of `from`; returns
    /// the state afterwards. A new payment is `open`.
    async fn sandbox_move(
        &self,
        payment: &PaymentId,
        from: &'static [&'static str],
        to: &'static str,
    ) -> Result<String, LedgerError>;
    /// Returns two numbers for metrics: the events that are not settled, and the effects and
    /// refunds that are not done.
    async fn backlog(&self) -> Result<(u64, u64), LedgerError>;
}

/// Money that came after its order had expired.
#[async_trait]
pub trait LateMoneyLedger: Send + Sync {
    /// Returns expired orders for whose late money a decision is due. Each of them is due again at
    /// `again_at_ms`, and until then no other node gets it.
    async fn late_due(
        &self,
        now_ms: i64,
        again_at_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<OrderId>, LedgerError>;
    /// Decides once what an order's late money buys. One transaction writes claims, order, offer
    /// and outboxes, and ends the search for seats. A second decision changes nothing. `basis` is
    /// needed if seats are claimed. If the card may not buy these seats as well, the money goes
    /// back to the buyer instead. Returns `None` if there is no such order.
    async fn late_settle(
        &self,
        order: &OrderId,
        outcome: LateMoneyOutcome,
        basis: Option<ClaimBasis>,
        now_ms: i64,
    ) -> Result<Option<OrderChangeOutcome>, SeatClaimRefused>;
}

/// Refunds: taking tickets back, and paying their money back to the buyers. Also the shows that are
/// cancelled or postponed.
#[async_trait]
pub trait RefundLedger: Send + Sync {
    /// Takes tickets back. One transaction voids the tickets, ends exactly their claims and adds a
    /// row to the seat outbox. It also owes the refund and writes the reason to the order's
    /// history. The order's terms and the show's present terms, read in this transaction, decide
    /// how much is refunded. A call whose tickets were all given back before changes nothing.
    /// Returns `None` if there is no such order.
    async fn refund(
        &self,
        order: &OrderId,
        which: TicketSelection,
        now_ms: i64,
    ) -> Result<Option<OrderChangeOutcome>, RefundRefused>;
    /// Returns due refunds of captured payments, and lends them to the caller: no other caller gets
    /// them for [`EFFECT_LENT_MS`].
    async fn due_refunds(
        &self,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<OwedRefund>, LedgerError>;
    /// Renews the loan of a refund for [`EFFECT_LENT_MS`] from now, while the call to the provider
    /// lasts.
    async fn lend_refund_on(&self, refund: &RefundId, now_ms: i64) -> Result<(), LedgerError>;
    /// Records that the provider has made a refund. When all money of a payment has been refunded,
    /// the payment is `refunded`.
    async fn refund_done(&self, refund: &RefundId, now_ms: i64) -> Result<(), LedgerError>;
    /// Puts off a refund to `due_at_ms`, and counts one more attempt. If the provider could not
    /// make the refund, `failed_at_ms` is given. The reconciler then reports the refund as a
    /// finding until it is done.
    async fn put_off_refund(
        &self,
        refund: &RefundId,
        due_at_ms: i64,
        why: String,
        failed_at_ms: Option<i64>,
    ) -> Result<(), LedgerError>;
    /// Writes that a show is cancelled or postponed; `starts_at` is its new beginning. Returns
    /// false and writes nothing if there is no such show, or if it was cancelled before.
    async fn put_fate(
        &self,
        show: &ShowId,
        fate: ShowFate,
        starts_at: Option<String>,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
    /// Returns paid orders of cancelled shows that have something to refund, oldest first. An order
    /// whose exchange is being paid is left out until the exchange ends.
    async fn orders_of_cancelled(&self, batch_max: u32) -> Result<Vec<OrderId>, LedgerError>;
    /// Returns a show's refunds in figures.
    async fn refund_figures(&self, show: &ShowId) -> Result<RefundFigures, LedgerError>;
}

/// Exchanges: a visitor returns seats of a paid order and gets other seats.
#[async_trait]
pub trait ExchangeLedger: Send + Sync {
    /// Begins an exchange: writes the successor, the order that replaces the old order, and claims
    /// the cells that it gains, as in transaction 1. If there is nothing to pay, the same
    /// transaction swaps the seats. Otherwise the capture of the difference swaps them.
    ///
    /// The swap gives the new seats to the successor, and ends the claims and tickets of the old
    /// order. It owes the refund that the exchange names. No swap is made if a ticket of the old
    /// order was scanned or the order changed in the meantime. Then the money paid for the
    /// successor goes back to the buyer, and the old order stays as it is. A call with a successor
    /// that exists returns that successor. Returns `None` if there is no such order.
    async fn exchange(
        &self,
        of: &OrderId,
        exchange: Exchange,
        basis: ClaimBasis,
        now_ms: i64,
    ) -> Result<Option<Order>, ExchangeRefused>;
}

/// The reads and the repairs of the reconciler.
#[async_trait]
pub trait AuditLedger: Send + Sync {
    /// Returns orders that wait for payment, consent or their capture, and orders with a failed
    /// refund. Also returns orders whose payment changed since `since_ms` and whose state does not
    /// fit the payment or the tickets. `batch_max` limits each of these kinds.
    async fn order_facts(
        &self,
        since_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<OrderFacts>, LedgerError>;
    /// Returns payments that may still change and have not changed for `quiet_ms`, with the time of
    /// their last change. The payments that have been due the longest are chosen first. A returned
    /// payment is due again when it has been unchanged for twice as long as now. A captured payment
    /// can change only by a refund, so it is first due after [`TAKEN_QUIET_MS`]. A batch has up to
    /// `batch_max` other payments, and up to a quarter of `batch_max` captured payments.
    async fn quiet_payments(
        &self,
        now_ms: i64,
        quiet_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<(Payment, i64)>, LedgerError>;
    /// Returns those of `holds` that belong to no order, and that no undecided search for seats may
    /// still use. Such a search looks for seats that late money can buy.
    async fn without_order(&self, holds: Vec<HoldId>) -> Result<Vec<HoldId>, LedgerError>;
    /// Gives up a hold: an order of this hold that was made at `now_ms` or earlier can no longer
    /// claim seats, and gets [`LedgerError::Unavailable`]. Returns false and changes nothing if the
    /// order exists.
    async fn give_up(&self, hold: &HoldId, now_ms: i64) -> Result<bool, LedgerError>;
    /// Returns shows with unfinished work: orders that are not done, undelivered rows of the seat
    /// outbox, unsettled events, or undecided late money.
    async fn busy_shows(&self) -> Result<Vec<ShowId>, LedgerError>;
    /// Returns all claimed cells of a show.
    async fn claimed(&self, show: &ShowId) -> Result<Vec<ClaimedCell>, LedgerError>;
    /// Owes the effect or issues the tickets that the order's state needs, if they are missing.
    /// Returns false if nothing was missing.
    async fn mend(&self, order: &OrderId, now_ms: i64) -> Result<bool, LedgerError>;
    /// Writes every record of the dump into `out`, read in one snapshot at `now_ms`, and returns
    /// `out`.
    async fn write_dump(&self, out: File, now_ms: i64) -> Result<File, DumpFailed>;
}

/// Timetables: each is an immutable version, and the newest version is in force.
#[async_trait]
pub trait TimetableLedger: Send + Sync {
    /// Stores a timetable as the next version, with the plans of its trains, and returns the
    /// version. Each plan becomes its venue's next version, unless the newest plan is the same. If
    /// the newest timetable has the same text and plans, returns its version.
    async fn put_timetable(&self, new: NewTimetable, now_ms: i64) -> Result<u32, LedgerError>;
    /// Returns the newest version, if there is one. This call is cheap.
    async fn newest_timetable(&self) -> Result<Option<u32>, LedgerError>;
    /// Returns a version of the timetable.
    async fn timetable(&self, version: u32) -> Result<Option<StoredTimetable>, LedgerError>;
}

/// Tickets, and answers that are stored for repeated calls.
#[async_trait]
pub trait TicketLedger: Send + Sync {
    /// Returns a ticket.
    async fn ticket(&self, ticket: &TicketId) -> Result<Option<Ticket>, LedgerError>;
    /// Marks a ticket as scanned, unless it was scanned before or was given back. `by` is the
    /// digest of the scanner and the scan's key. A repeated scan with the same digest within
    /// [`SCAN_KEY_MS`] still counts as the first scan. Returns `None` if there is no such ticket.
    async fn scan(
        &self,
        ticket: &TicketId,
        by: Option<[u8; 32]>,
        now_ms: i64,
    ) -> Result<Option<TicketScanOutcome>, LedgerError>;
    /// Registers a call under its caller's key before a node carries out the call. So of two
    /// different calls under one key only one is ever carried out, even if they arrive at different
    /// nodes. The call belongs to the node for [`CALL_LEASE_MS`]. In this time no other node may
    /// begin the call, but the node itself may begin it again.
    async fn begin_call(
        &self,
        call: KeyedCall,
        now_ms: i64,
    ) -> Result<BeginCallOutcome, LedgerError>;
    /// Sets until when a call belongs to its node, if the node still has the call. A node with no
    /// final answer passes a time in the past: any node may then begin the same call again at once.
    /// The key still belongs to this call.
    async fn lend_call(&self, call: KeyedCall, until_ms: i64) -> Result<(), LedgerError>;
    /// Stores the answer of a call, which ends the call. If the call has an answer, that answer
    /// stays.
    async fn keep(
        &self,
        scope: [u8; 32],
        key: String,
        answer: KeptAnswer,
        now_ms: i64,
    ) -> Result<(), LedgerError>;
}

/// The waitlist: the parties that wait, their order, and their offers.
#[async_trait]
pub trait WaitlistLedger: Send + Sync {
    /// Puts a party at the end of its show's line and returns the party with its number. Each show
    /// has numbers of its own, from 1, in the order of the commits. A visitor waits for a show
    /// once: if a party of the visitor waits already, it is returned unchanged.
    async fn join_waitlist(&self, waiter: Waiter) -> Result<Waiter, LedgerError>;
    /// Returns a visitor's party and the number of waiting parties ahead of it. If no party of the
    /// visitor waits, returns the party that stopped waiting last.
    async fn waiter(
        &self,
        show: &ShowId,
        visitor: Holder,
    ) -> Result<Option<(Waiter, u64)>, LedgerError>;
    /// Returns the parties that wait for a show, in the order of the line.
    async fn waiters(&self, show: &ShowId) -> Result<Vec<Waiter>, LedgerError>;
    /// Returns the shows that somebody waits for, each with its number of waiting parties.
    async fn waited_shows(&self) -> Result<Vec<(ShowId, u64)>, LedgerError>;
    /// Returns the visitors of up to `most` waiting parties, those who have waited longest first. A
    /// visitor who waits for several shows is returned once for each show.
    async fn waiting_visitors(&self, most: u32) -> Result<Vec<Holder>, LedgerError>;
    /// Records for each waiting party of these visitors that its visitor was here at `now_ms`.
    async fn waiters_seen(&self, visitors: Vec<Holder>, now_ms: i64) -> Result<(), LedgerError>;
    /// Records an offer to a waiting party. Returns false if the party does not wait or has an
    /// offer already.
    async fn offered(&self, waiter: &WaiterId, offer: WaitlistOffer) -> Result<bool, LedgerError>;
    /// Ends a party's offer. Returns false if the party no longer has this offer.
    async fn offer_over(
        &self,
        waiter: &WaiterId,
        hold: &HoldId,
        end: WaitlistOfferEnd,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
    /// Ends a party's waiting. Returns false if the party did not wait.
    async fn end_waiter(
        &self,
        waiter: &WaiterId,
        end: WaitEndReason,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
}

/// The deletion of data that are older than their retention period.
#[async_trait]
pub trait RetentionLedger: Send + Sync {
    /// Deletes up to `batch_max` rows of a kind whose retention period is over at `now_ms`, oldest
    /// first. `after` is 0 at first, and then the previous batch's [`PruneOutcome::next`]. Some
    /// rows stay, however old they are: owed effects, unsettled events, undelivered seat rows and
    /// waiting parties.
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
    + StoppedPassLedger
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
        + AuditLedger
        + TicketLedger
        + WaitlistLedger
        + TimetableLedger
        + RetentionLedger
        + StoppedPassLedger
        + 'static
{
}
