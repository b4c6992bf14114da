//! The seam to the durable record: each method is one domain transaction, whole or not at all.
//!
//! **Architecture invariant:** SQL is written only under `ledger/sql`; neither rusqlite nor
//! tokio-postgres is named there, but in the crate of both databases.

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

/// How long an effect is one worker's, in milliseconds: no other node carries it out meanwhile. A
/// worker whose call takes longer asks for more; where it dies, another one goes on, and the
/// provider knows the call by its key.
pub const EFFECT_LENT_MS: i64 = 5_000;

/// A captured payment is read back when it has been for so long, and each time after twice as long,
/// to [`TAKEN_READ_FOR_MS`].
pub const TAKEN_QUIET_MS: i64 = 3_600_000;

/// Money that was taken longer ago is not asked about any more.
pub const TAKEN_READ_FOR_MS: i64 = 120 * 24 * 3_600_000;

/// How long an event is one worker's, in milliseconds. Where two settle it all the same, it is
/// applied once.
pub const EVENT_LENT_MS: i64 = 5_000;

/// How long a call under an `Idempotency-Key` is one node's without being asked for anew, in
/// milliseconds. Where that node dies, the same call goes on elsewhere after so long, and finds
/// what was done.
pub const CALL_LENT_MS: i64 = 3_000;

/// For how long a scan's key is good, in milliseconds: a scanner whose answer was lost asks again
/// at once, and whoever comes later with the same ticket is somebody else.
pub const SCAN_KEY_MS: i64 = 60_000;

/// What all nodes over one ledger share.
#[async_trait]
pub trait CommonLedger: Send + Sync {
    /// The ledger's id: made once, and never another's.
    async fn id(&self) -> Result<[u8; 32], LedgerError>;
    /// The ledger's time, milliseconds since the epoch.
    async fn now_ms(&self) -> Result<i64, LedgerError>;
    /// Whether the database takes writes just now: one is made to find out.
    async fn check(&self) -> Result<(), LedgerError>;
    /// Takes or renews a named lease for `owner` until `ttl_ms` from now by the ledger's time;
    /// false while another owner has it. Whoever works under it counts from before this call.
    async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, LedgerError>;
    /// Gives a lease back before its end; that of another owner stays.
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
    /// The newest plan version of a venue.
    async fn newest_plan(&self, venue: &VenueId) -> Result<Option<u32>, LedgerError>;
    /// A plan.
    async fn plan(&self, venue: &VenueId, version: u32) -> Result<Option<String>, LedgerError>;
    /// Stores a show; `keeps` says which used seats the new plan leaves as they are (asked only
    /// when the plan changes). The terms that its document states are its next version, unless its
    /// newest one says the same; gives the number. Of a show that seats were sold of the currency
    /// stays.
    async fn put_show(
        &self,
        show: StoredShow,
        keeps: Option<UnchangedSeatCheck>,
        now_ms: i64,
    ) -> Result<u32, ShowRefused>;
    /// Stores a departure as a show, unless there is one of its id; gives what is stored then. The
    /// catalogue's version stays: whoever wants departures asks for those behind a number.
    async fn open_departure(
        &self,
        departure: StoredShow,
        now_ms: i64,
    ) -> Result<StoredShow, LedgerError>;
    /// Stored departures behind a number, in order: what is committed later has a larger one.
    async fn departures(
        &self,
        after: u64,
        batch_max: u32,
    ) -> Result<Vec<(u64, StoredShow)>, LedgerError>;
    /// All shows but departures.
    async fn shows(&self) -> Result<Vec<StoredShow>, LedgerError>;
    /// A version of a show's terms.
    async fn terms(&self, show: &ShowId, version: u32) -> Result<Option<SaleTerms>, LedgerError>;
    /// Replaces the list of (room, patterns).
    async fn put_coverage(&self, coverage: Vec<(String, Vec<String>)>) -> Result<(), LedgerError>;
    /// The list of (room, patterns).
    async fn coverage(&self) -> Result<Vec<(String, Vec<String>)>, LedgerError>;
    /// A number that grows with every change of a venue, a show or the coverage, whichever node
    /// made it: cheap to ask.
    async fn catalogue_version(&self) -> Result<u64, LedgerError>;
    /// A named secret of the installation, made from `fresh` when it is first asked for.
    async fn secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<[u8; 32], LedgerError>;
}

/// Tells whether a used seat is the same under the new plan.
pub type UnchangedSeatCheck = Box<dyn Fn(u32) -> bool + Send>;

/// Orders, claims and the seat outbox.
#[async_trait]
pub trait OrderLedger: Send + Sync {
    /// The number of the show's next incarnation, larger than every earlier one.
    async fn next_incarnation(&self, show: &ShowId) -> Result<u64, LedgerError>;
    /// The show's picture, to open the store with; claims that are being written are waited for.
    /// With `lost`, the data of every earlier incarnation are gone and this one has begun in the
    /// store: from the picture on, claims that rest on locks of an earlier one are refused, since
    /// nothing in the store would show them.
    async fn open_show(&self, show: &ShowId, lost: Option<u64>)
    -> Result<ShowPicture, LedgerError>;
    /// Transaction 1: claims, order, payment. The same order again answers with the order as it is.
    /// A try that was given up ([`AuditLedger::give_up`]) is refused: whether it was is told by
    /// when the order was made.
    async fn claim(
        &self,
        order: Order,
        payment: Payment,
        basis: ClaimBasis,
    ) -> Result<Order, SeatClaimRefused>;
    /// An order of a visitor's that has seats of a show over exactly these legs, pending or paid.
    async fn order_over(
        &self,
        show: &ShowId,
        visitor: Holder,
        legs: Range<u16>,
    ) -> Result<Option<OrderId>, LedgerError>;
    /// An order with its history, tickets and payment.
    async fn order(&self, order: &OrderId) -> Result<Option<OrderRecord>, LedgerError>;
    /// Lets something happen to an order (transaction 2 among others); `None` if there is no such
    /// order.
    async fn happen(
        &self,
        order: &OrderId,
        happening: OrderEvent,
        now_ms: i64,
    ) -> Result<Option<OrderChangeOutcome>, LedgerError>;
    /// Pending orders whose claim is over: expires up to `batch_max` of them and returns them.
    /// Those of whose payment something was stored in time and is not settled yet are left: it may
    /// be the money.
    async fn expire_due(&self, now_ms: i64, batch_max: u32) -> Result<Vec<OrderId>, LedgerError>;
    /// Claims that stand beyond their deadline, in the order of their deadlines and then their
    /// orders: those of whose payment something waits to be settled, and those that nobody has
    /// expired yet. `after` is the last one of the batch before.
    async fn overdue_claims(
        &self,
        now_ms: i64,
        after: Option<(i64, OrderId)>,
        batch_max: u32,
    ) -> Result<Vec<OverdueClaim>, LedgerError>;
    /// Numbers the outbox rows that have been committed: by show, from 1, without gaps, those of
    /// one cell in the order of their commits. Gives the shows that have rows not marked as
    /// delivered, each with its newest row so marked.
    async fn number_seat_rows(&self) -> Result<Vec<(ShowId, u64)>, LedgerError>;
    /// A show's numbered outbox rows behind a cursor, in order.
    async fn seat_rows(
        &self,
        show: &ShowId,
        after: u64,
        batch_max: u32,
    ) -> Result<Vec<SeatOutboxRow>, LedgerError>;
    /// Marks a show's rows up to a number as delivered; a mark never goes back.
    async fn seat_rows_delivered(&self, show: &ShowId, upto: u64) -> Result<(), LedgerError>;
    /// A show's newest numbered outbox row, 0 for none: a store that claims to know more has seen
    /// another ledger.
    async fn seat_cursor(&self, show: &ShowId) -> Result<u64, LedgerError>;
    /// Visitors whose orders were ticketed, behind a cursor. What is committed later has a larger
    /// number, so a reader that keeps its cursor misses nobody.
    async fn finished(
        &self,
        after: u64,
        shows: Vec<ShowId>,
    ) -> Result<Vec<(u64, Holder)>, LedgerError>;
}

/// Payments: the inbox of events, and what is owed to the provider.
#[async_trait]
pub trait PaymentLedger: Send + Sync {
    /// A payment.
    async fn payment(&self, payment: &PaymentId) -> Result<Option<Payment>, LedgerError>;
    /// Stores a raw event under its id, with the payment that it is about; false if it was there
    /// already.
    async fn keep_event(
        &self,
        provider: &'static str,
        event: String,
        about: Option<PaymentId>,
        body: Vec<u8>,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
    /// Remembers what the provider calls a payment and what the page needs; the first one stays,
    /// and is returned.
    async fn payment_made(
        &self,
        payment: &PaymentId,
        made: CreatedPayment,
    ) -> Result<CreatedPayment, LedgerError>;
    /// Stored events that are to be settled, oldest first, lent to the caller: for
    /// [`EVENT_LENT_MS`] no other caller is given them.
    async fn due_events(
        &self,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<StoredProviderEvent>, LedgerError>;
    /// The event is settled later; it was tried once more.
    async fn put_off_event(
        &self,
        provider: String,
        event: String,
        due_at_ms: i64,
    ) -> Result<(), LedgerError>;
    /// Settles an event, as [`fairgate_model::orders::settling`] decides: the payment's state, the
    /// order's happening, and the event's outcome in one transaction. The card's limit is checked
    /// here, with every other sale to that card shut out.
    async fn settle(
        &self,
        provider: String,
        event: String,
        says: ParsedProviderEvent,
        now_ms: i64,
    ) -> Result<&'static str, LedgerError>;
    /// Effects that are due, lent to the caller: for [`EFFECT_LENT_MS`] no other caller is given
    /// them.
    async fn due_effects(
        &self,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<DuePaymentEffect>, LedgerError>;
    /// The effect is still being carried out, and is lent for [`EFFECT_LENT_MS`] from now.
    async fn lend_on(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// The capture went through: payment captured, tickets issued, order ticketed, effect done.
    async fn captured(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// The provider refused the capture for good: order `capture_failed`, seats freed, effect done.
    async fn capture_refused(
        &self,
        effect: i64,
        why: String,
        now_ms: i64,
    ) -> Result<(), LedgerError>;
    /// The authorisation was let go.
    async fn voided(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// What was to be let go had been taken: payment captured, effect done, and a refund owed in
    /// its place.
    async fn refund_instead(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// The provider could not bring the money back: the effect is tried again at `due_at_ms`, and
    /// is a finding until it is done.
    async fn refund_failed(
        &self,
        effect: i64,
        due_at_ms: i64,
        why: String,
        now_ms: i64,
    ) -> Result<(), LedgerError>;
    /// All the captured money went back: payment refunded, effect done.
    async fn refunded(&self, effect: i64, now_ms: i64) -> Result<(), LedgerError>;
    /// The effect is tried again later.
    async fn put_off(&self, effect: i64, due_at_ms: i64, why: String) -> Result<(), LedgerError>;
    /// The sandbox gives a part of captured money back, once by its id, and no more than there is;
    /// what has gone back so far, or `None` where nothing was captured.
    async fn sandbox_refund(
        &self,
        payment: &PaymentId,
        refund: &RefundId,
        amount: i64,
        captured: i64,
    ) -> Result<Option<i64>, LedgerError>;
    /// What the sandbox has given back of a payment in parts.
    async fn sandbox_refunded(&self, payment: &PaymentId) -> Result<i64, LedgerError>;
    /// Moves the sandbox's own state, if it is one of `from`; returns the state afterwards.
    async fn sandbox_move(
        &self,
        payment: &PaymentId,
        from: &'static [&'static str],
        to: &'static str,
    ) -> Result<String, LedgerError>;
    /// How many events and effects wait: for metrics.
    async fn backlog(&self) -> Result<(u64, u64), LedgerError>;
}

/// Money that came after its order had expired.
#[async_trait]
pub trait LateMoneyLedger: Send + Sync {
    /// Expired orders whose late money is undecided and due; each is due again only at
    /// `again_at_ms`, so that no two nodes look at the same ones.
    async fn late_due(
        &self,
        now_ms: i64,
        again_at_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<OrderId>, LedgerError>;
    /// Decides what an order's late money buys, once: claims, order, offer, outboxes, and the end
    /// of the search, in one transaction. `basis` is needed where seats are claimed. Where the card
    /// has bought its share already, the money goes back instead. `None` if there is no such order.
    async fn late_settle(
        &self,
        order: &OrderId,
        outcome: LateMoneyOutcome,
        basis: Option<ClaimBasis>,
        now_ms: i64,
    ) -> Result<Option<OrderChangeOutcome>, SeatClaimRefused>;
}

/// Tickets given back, the money that goes back for them, and shows that do not take place as they
/// were sold.
#[async_trait]
pub trait RefundLedger: Send + Sync {
    /// Takes tickets back in one transaction: they are void, exactly their claims are given up, the
    /// store is told, the refund is owed, and the order's history says why. What goes back is
    /// decided by the show's rules as they stand here. What went back before changes nothing;
    /// `None` if there is no such order.
    async fn refund(
        &self,
        order: &OrderId,
        which: TicketSelection,
        now_ms: i64,
    ) -> Result<Option<OrderChangeOutcome>, RefundRefused>;
    /// Refunds that are due and whose payment was captured, lent to the caller: for
    /// [`EFFECT_LENT_MS`] no other caller is given them.
    async fn due_refunds(
        &self,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<OwedRefund>, LedgerError>;
    /// The refund is still being asked for, and is lent for [`EFFECT_LENT_MS`] from now.
    async fn lend_refund_on(&self, refund: &RefundId, now_ms: i64) -> Result<(), LedgerError>;
    /// The money has gone back. Where that is all of the payment's, the payment is refunded.
    async fn refund_done(&self, refund: &RefundId, now_ms: i64) -> Result<(), LedgerError>;
    /// The refund is asked for again later. With `failed_at_ms`, the provider could not do it, and
    /// that is a finding until it is done.
    async fn put_off_refund(
        &self,
        refund: &RefundId,
        due_at_ms: i64,
        why: String,
        failed_at_ms: Option<i64>,
    ) -> Result<(), LedgerError>;
    /// Writes what became of a show, and where it is postponed when it begins instead. False, and
    /// nothing is written, where there is no such show, or it was cancelled before.
    async fn put_fate(
        &self,
        show: &ShowId,
        fate: ShowFate,
        starts_at: Option<String>,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
    /// Paid orders of cancelled shows with something to give back, oldest first.
    async fn orders_of_cancelled(&self, batch_max: u32) -> Result<Vec<OrderId>, LedgerError>;
    /// A show's refunds in figures.
    async fn refund_figures(&self, show: &ShowId) -> Result<RefundFigures, LedgerError>;
}

/// Seats of a paid order given for others.
#[async_trait]
pub trait ExchangeLedger: Send + Sync {
    /// Begins an exchange: the successor is claimed as in transaction 1, over the cells it gains;
    /// where there is nothing to pay, the swap is in the same transaction. Else it comes with the
    /// capture: the new seats are the successor's, the old order's claims and tickets are given up,
    /// and what its money is too much goes back. Where the old order was scanned or changed
    /// meanwhile, the successor's money goes back and the old order stays as it is. The same
    /// successor again is the same success; `None` if there is no such order.
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
    /// Orders that wait for something, and those whose payment moved since `since_ms` and does not
    /// fit them.
    async fn order_facts(
        &self,
        since_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<OrderFacts>, LedgerError>;
    /// Payments that may still move and have not for `quiet_ms`, with when they last did, those
    /// first that were not given out for the longest. The older a payment, the more seldom it is
    /// given; one that is captured, of which only a refund is news, not before [`TAKEN_QUIET_MS`],
    /// and a quarter of `batch_max` at most.
    async fn quiet_payments(
        &self,
        now_ms: i64,
        quiet_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<(Payment, i64)>, LedgerError>;
    /// Those of some holds that no order has, and that no search of late money may still use.
    async fn without_order(&self, holds: Vec<HoldId>) -> Result<Vec<HoldId>, LedgerError>;
    /// Gives up whatever try to make an order of a hold began by `now_ms`: its claim is refused
    /// from here on, as [`LedgerError::Unavailable`]. False, and nothing is given up, where the
    /// order is there.
    async fn give_up(&self, hold: &HoldId, now_ms: i64) -> Result<bool, LedgerError>;
    /// Shows in which something is on its way: orders that are not done, rows of the seat outbox,
    /// events, late money.
    async fn busy_shows(&self) -> Result<Vec<ShowId>, LedgerError>;
    /// All claimed cells of a show.
    async fn claimed(&self, show: &ShowId) -> Result<Vec<ClaimedCell>, LedgerError>;
    /// Owes again what the order's state asks for, or issues its tickets; false where nothing was
    /// missing.
    async fn mend(&self, order: &OrderId, now_ms: i64) -> Result<bool, LedgerError>;
}

/// Timetables: each an immutable version, the newest of which counts.
#[async_trait]
pub trait TimetableLedger: Send + Sync {
    /// Stores a timetable as the next version, with the plans of its trains, each as its venue's
    /// next version unless the newest one is the same. The newest timetable again, on the same
    /// plans, is the same version.
    async fn put_timetable(&self, new: NewTimetable, now_ms: i64) -> Result<u32, LedgerError>;
    /// The newest version, if there is one: cheap to ask.
    async fn newest_timetable(&self) -> Result<Option<u32>, LedgerError>;
    /// A version.
    async fn timetable(&self, version: u32) -> Result<Option<StoredTimetable>, LedgerError>;
}

/// Tickets and kept answers.
#[async_trait]
pub trait TicketLedger: Send + Sync {
    /// A ticket.
    async fn ticket(&self, ticket: &TicketId) -> Result<Option<Ticket>, LedgerError>;
    /// Marks a ticket as scanned, unless it was before or was given back. `by` is the digest of
    /// scanner and key: the same again within [`SCAN_KEY_MS`] is the first scan still.
    async fn scan(
        &self,
        ticket: &TicketId,
        by: Option<[u8; 32]>,
        now_ms: i64,
    ) -> Result<Option<TicketScanOutcome>, LedgerError>;
    /// Registers a call under its caller's key before anything is done for it, so that of two
    /// different calls under one key one never acts, at whatever nodes they arrive. It is the
    /// node's until [`CALL_LENT_MS`] from now: nobody else begins it meanwhile, and the node itself
    /// may begin it anew.
    async fn begin_call(
        &self,
        call: KeyedCall,
        now_ms: i64,
    ) -> Result<BeginCallOutcome, LedgerError>;
    /// A call that is still the node's is so until `until_ms`. One that was not answered for good
    /// is given back with a moment that is over: it may be begun again at once, and its key stays
    /// its own.
    async fn lend_call(&self, call: KeyedCall, until_ms: i64) -> Result<(), LedgerError>;
    /// Keeps an answer, from which on its call is over; the first one stays.
    async fn keep(
        &self,
        scope: [u8; 32],
        key: String,
        answer: KeptAnswer,
        now_ms: i64,
    ) -> Result<(), LedgerError>;
}

/// The waitlist: who waits in which order, and what each was offered.
#[async_trait]
pub trait WaitlistLedger: Send + Sync {
    /// Puts a party at the end of its show's line, which its number tells: by show, from 1, in the
    /// order of the commits. A visitor waits for a show once: where it does already, it is given as
    /// it stands, and nothing is changed.
    async fn join_waitlist(&self, waiter: Waiter) -> Result<Waiter, LedgerError>;
    /// A visitor's party, with how many stand before it: the one that waits, else the one that
    /// ended last.
    async fn waiter(
        &self,
        show: &ShowId,
        visitor: Holder,
    ) -> Result<Option<(Waiter, u64)>, LedgerError>;
    /// The parties that wait for a show, in line.
    async fn waiters(&self, show: &ShowId) -> Result<Vec<Waiter>, LedgerError>;
    /// The shows that somebody waits for, each with how many parties do.
    async fn waited_shows(&self) -> Result<Vec<(ShowId, u64)>, LedgerError>;
    /// The visitors whose parties wait, those who came first at the front.
    async fn waiting_visitors(&self, most: u32) -> Result<Vec<Holder>, LedgerError>;
    /// These visitors were here at this moment; what they do not wait for is left as it is.
    async fn waiters_seen(&self, visitors: Vec<Holder>, now_ms: i64) -> Result<(), LedgerError>;
    /// Notes the offer that a waiting party without one was made; false where there is no such
    /// party.
    async fn offered(&self, waiter: &WaiterId, offer: WaitlistOffer) -> Result<bool, LedgerError>;
    /// An offer came to its end; false where it was not this party's any more.
    async fn offer_over(
        &self,
        waiter: &WaiterId,
        hold: &HoldId,
        end: WaitlistOfferEnd,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
    /// A party waits no longer; false where it did not.
    async fn end_waiter(
        &self,
        waiter: &WaiterId,
        end: WaitEndReason,
        now_ms: i64,
    ) -> Result<bool, LedgerError>;
}

/// What goes once it is old.
#[async_trait]
pub trait RetentionLedger: Send + Sync {
    /// Deletes up to `batch_max` rows of a kind that are older than it is kept by `now_ms`, the
    /// oldest first. `after` is 0 at first, and then what the batch before gave as
    /// [`PruneOutcome::next`]. What is still to be done, read or delivered stays, however old.
    async fn prune(
        &self,
        what: RetentionKind,
        after: i64,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<PruneOutcome, LedgerError>;
}

/// The whole ledger.
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
