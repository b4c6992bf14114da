//! The contract of the ledger, which must hold on both databases. The name of each case says what
//! must hold. Each case gets a fresh ledger, and a failure reports the name of the case.

mod auditing;
mod calling;
mod claiming;
mod declining;
mod disputes;
mod exchanging;
mod free;
mod keeping;
mod late;
mod leaving;
mod lending;
mod lost_refunds;
mod onsale;
mod paying;
mod pinning;
mod programming;
mod pruning;
mod refunding;
mod returns;
mod set_backs;
mod sharing;
mod telling;
mod terms;
mod timetabling;
mod upgrading;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;

use fairgate_model::grid::CellGrid;
use fairgate_model::holds::{HeldSeat, HoldPurpose};
use fairgate_model::ids::{HoldId, OrderId, PaymentId, ShowId, VenueId};
use fairgate_model::money::Currency;
use fairgate_model::orders::exchange::carried::CarriedMoney;
use fairgate_model::orders::{Buyer, Order, OrderItem, OrderRecord, OrderState};
use fairgate_model::payments::{
    ParsedProviderEvent, Payment, PaymentState, ProviderEvent, ProviderEventKind,
};
use fairgate_model::venues::VenueLocation;
use fairgate_pass::Holder;
use fairgate_servers::{ContractCase, contract_cases as cases, run_contract};

use super::{
    ClaimBasis, Ledger, NewVenuePlan, PlanPin, SeatClaimRefused, StoredShow, UnchangedSeatCheck,
};
use crate::store::{SeatOutboxAction, SeatOutboxRow};

type Books = Ledger;
type Case = ContractCase<'static, Books>;

/// Cases of claims, payments and late money.
const SELLING: &[&[Case]] = &[
    claiming::CASES,
    free::CASES,
    telling::CASES,
    paying::CASES,
    declining::CASES,
    late::CASES,
];
/// Cases of refunds and exchanges.
const REFUNDS_AND_EXCHANGES: &[&[Case]] = &[
    refunding::tickets::CASES,
    refunding::captures::CASES,
    refunding::money::CASES,
    refunding::shows::CASES,
    exchanging::swapping::CASES,
    exchanging::unpaid::CASES,
    exchanging::beside::CASES,
    returns::CASES,
    disputes::CASES,
    terms::CASES,
];
/// Cases of all other data and of leases.
const OTHER_DATA: &[&[Case]] = &[
    auditing::CASES,
    calling::CASES,
    keeping::CASES,
    leaving::CASES,
    lending::CASES,
    onsale::CASES,
    pinning::CASES,
    pruning::CASES,
    lost_refunds::CASES,
    set_backs::CASES,
    programming::CASES,
    sharing::CASES,
    waiting::CASES,
    timetabling::CASES,
];

/// Eight seats with two legs each, so that two orders can have one seat on different legs.
const GRID: CellGrid = CellGrid { seats: 8, legs: 2 };
/// The incarnation of all locks.
const LIFE: u64 = 7;
/// The basis of a claim by a basket.
pub(super) const BASKET_BASIS: ClaimBasis = ClaimBasis {
    grid: GRID,
    limit: NO_LIMIT,
    incarnation: LIFE,
    purpose: HoldPurpose::Basket,
};
pub(super) const EXCHANGE_BASIS: ClaimBasis = ClaimBasis {
    purpose: HoldPurpose::Exchange,
    ..BASKET_BASIS
};
const LATE_BASIS: ClaimBasis = ClaimBasis {
    purpose: HoldPurpose::LateMoney,
    ..BASKET_BASIS
};
const NOW_MS: i64 = 1_000_000;
const CLAIM_UNTIL_MS: i64 = NOW_MS + 150_000;
/// A limit that no case reaches.
const NO_LIMIT: u32 = 100;
const ANA: Holder = Holder([1; 32]);
const BEN: Holder = Holder([2; 32]);
const PROVIDER: &str = "sandbox";

pub(super) fn show() -> ShowId {
    "night-1".parse().expect("a slug")
}

fn venue() -> VenueId {
    "hall".parse().expect("a slug")
}

/// The plan version that the contract's show pins.
pub(super) const PLAN: u32 = 1;

fn stored(plan_version: u32) -> StoredShow {
    // Each price has a category of its own, because some cases need seats at different prices.
    let mut prices: BTreeMap<String, i64> = (0..=100)
        .map(|n| (format!("p{}", n * 50), n * 50))
        .collect();
    prices.insert("cat1".to_owned(), 1_000);
    let document = serde_json::json!({
        "venue": "hall", "title": "Night one", "starts_at": "2027-06-01T20:00:00Z",
        "currency": "EUR", "prices": prices,
    });
    StoredShow {
        id: show(),
        document: serde_json::from_value(document).expect("a valid document"),
        plan_version,
        run: None,
        fate: None,
        terms: 0,
    }
}

/// Returns a check of the hall's claimed seats, which was made when the show pinned this version.
pub(super) fn check(
    version: u32,
    keeps: impl Fn(u32) -> bool + Send + 'static,
) -> UnchangedSeatCheck {
    UnchangedSeatCheck {
        old: PlanPin {
            venue: venue(),
            version,
        },
        keeps: Box::new(keeps),
    }
}

/// The location of a venue about which nothing is known.
pub(super) const NOWHERE: VenueLocation = VenueLocation {
    name: None,
    city: None,
    address: None,
    time_zone: None,
};

pub(super) fn plan_of(plan: &str, digest: [u8; 32]) -> NewVenuePlan {
    NewVenuePlan {
        plan: plan.to_owned(),
        digest,
    }
}

/// Stores a venue with one plan, and a show that pins this plan.
pub(super) async fn stocked(ledger: &Books) {
    let version = ledger
        .put_venue(&venue(), plan_of("plan", [1; 32]), NOWHERE, NOW_MS)
        .await;
    assert_eq!(version.expect("stored"), 1);
    ledger
        .put_show(stored(1), None, NOW_MS)
        .await
        .expect("stored");
}

/// Builds an order of some seats on all legs. The id of its hold is derived from `key`.
pub(super) fn order(key: &str, visitor: Holder, seats: &[u32]) -> Order {
    let hold = HoldId::of_key(&show(), visitor, key);
    let id = OrderId::of_hold(&hold);
    let item = |seat: &u32| OrderItem {
        held: HeldSeat {
            seat: *seat,
            legs: 0..GRID.legs,
        },
        amount: 1_000,
        label: format!("A-{seat}"),
        category: "Stalls".to_owned(),
        category_key: "cat1".to_owned(),
        traveller: None,
        carried: CarriedMoney::default(),
    };
    let items: Vec<OrderItem> = seats.iter().map(item).collect();
    Order {
        payment: PaymentId::of_order(&id),
        show: show(),
        hold,
        visitor,
        room: "demo".to_owned(),
        buyer: Buyer {
            name: "Ana".to_owned(),
            email: "ana@example.org".to_owned(),
        },
        currency: Currency::parse("EUR").expect("a currency"),
        total: items.iter().map(|item| item.amount).sum(),
        items,
        plan_version: 1,
        terms: 1,
        waived: 0,
        state: OrderState::Pending,
        reason: "ordered".to_owned(),
        created_at_ms: NOW_MS,
        pay_until_ms: CLAIM_UNTIL_MS - 30_000,
        full_pay_until_ms: CLAIM_UNTIL_MS - 30_000,
        claim_until_ms: CLAIM_UNTIL_MS,
        full_claim_until_ms: CLAIM_UNTIL_MS,
        id,
    }
}

pub(super) fn payment(order: &Order) -> Payment {
    Payment {
        id: order.payment.clone(),
        order: order.id.clone(),
        provider: PROVIDER.to_owned(),
        amount: order.currency.with_amount(order.total),
        state: PaymentState::Created,
        reference: None,
        client: None,
        refunded: 0,
        attempt: 0,
        dispute: None,
    }
}

async fn claim(ledger: &Books, order: &Order) -> Result<Order, SeatClaimRefused> {
    ledger
        .claim(order.clone(), payment(order), BASKET_BASIS)
        .await
}

async fn claimed(ledger: &Books, key: &str, visitor: Holder, seats: &[u32]) -> Order {
    let order = order(key, visitor, seats);
    claim(ledger, &order).await.expect("the cells are free");
    order
}

fn provider_event(order: &Order, kind: ProviderEventKind) -> ProviderEvent {
    ProviderEvent {
        event: format!("{kind:?}_{}", order.id),
        kind,
        payment: order.payment.clone(),
        amount: order.currency.with_amount(order.total),
        reference: None,
        card: None,
        returns: None,
    }
}

/// Stores an event and settles it.
async fn settled(ledger: &Books, event: ProviderEvent, now_ms: i64) -> &'static str {
    settled_by(ledger, PROVIDER, event, now_ms).await
}

/// Stores and settles an event of a provider, and returns the outcome.
async fn settled_by(
    ledger: &Books,
    provider: &'static str,
    event: ProviderEvent,
    now_ms: i64,
) -> &'static str {
    let kept = ledger
        .keep_event(
            provider,
            event.event.clone(),
            Some(event.payment.clone()),
            b"{}".to_vec(),
            now_ms,
        )
        .await;
    kept.expect("stored");
    ledger
        .settle(
            provider.to_owned(),
            event.event.clone(),
            ParsedProviderEvent::Event(event),
            now_ms,
        )
        .await
        .expect("settled")
}

async fn authorised(ledger: &Books, order: &Order) {
    let event = provider_event(order, ProviderEventKind::Authorised);
    assert_eq!(settled(ledger, event, NOW_MS + 1).await, "applied");
}

async fn record(ledger: &Books, order: &Order) -> OrderRecord {
    let record = ledger.order(&order.id).await.expect("readable");
    record.expect("the order is there")
}

/// Returns the state and the reason of each step of an order.
async fn history(ledger: &Books, order: &Order) -> Vec<(OrderState, String)> {
    let steps = record(ledger, order).await.history;
    steps
        .into_iter()
        .map(|step| (step.state, step.reason))
        .collect()
}

/// Returns all outbox rows of the show, numbered.
async fn rows(ledger: &Books) -> Vec<SeatOutboxRow> {
    ledger.number_seat_rows().await.expect("numbered");
    let rows = ledger.seat_rows(&show(), 0, 10_000).await;
    rows.expect("readable")
}

/// Returns the action and the hold of each row of the seat outbox.
async fn outbox(ledger: &Books) -> Vec<(SeatOutboxAction, HoldId)> {
    let rows = rows(ledger).await;
    rows.into_iter().map(|row| (row.kind, row.hold)).collect()
}

mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use fairgate_databases::{Installation, Migration, PostgresDatabase, SqliteDatabase};
    use fairgate_servers::{PostgresServer, must_skip};

    use super::*;
    use crate::ledger::sql::{Ledger, MIGRATIONS};
    use fairgate_databases::LedgerError;

    /// The migrations before the one that gave numbers to terms.
    const BEFORE_TERMS: &[Migration] = MIGRATIONS.split_at(13).0;

    /// The migrations before the one that decided which stored shows are walk-ins.
    const BEFORE_WALK_INS: &[Migration] = MIGRATIONS.split_at(21).0;

    /// The migrations before the one that gave runs to terms.
    const BEFORE_RUNS: &[Migration] = MIGRATIONS.split_at(27).0;

    #[tokio::test(flavor = "multi_thread")]
    async fn the_ledger_in_one_file_keeps_the_contract() {
        let folder = tempfile::tempdir().expect("a folder");
        let count = AtomicU32::new(0);
        // Each case gets a copy of the file, because making the tables takes most of a case's time.
        let migrated = folder.path().join("migrated.db");
        let writer = SqliteDatabase::open(&migrated).expect("a file");
        let ledger = Ledger::open(Installation::File(writer.clone())).await;
        drop(ledger.expect("migrated"));
        writer.close().await.expect("closed");
        let all = [SELLING, REFUNDS_AND_EXCHANGES, OTHER_DATA].concat();
        run_contract(&all.concat(), async || {
            let name = format!("{}.db", count.fetch_add(1, Ordering::Relaxed));
            let copy = folder.path().join(name);
            std::fs::copy(&migrated, &copy).expect("a copy");
            let writer = SqliteDatabase::open(&copy).expect("a file");
            Ledger::open(Installation::File(writer))
                .await
                .expect("migrated") as Books
        })
        .await;
    }

    /// Writes bytes as SQLite's SQL does.
    fn as_sqlite(bytes: &[u8]) -> String {
        format!("X'{}'", hex::encode(bytes))
    }

    /// Writes bytes as PostgreSQL's SQL does.
    fn as_postgresql(bytes: &[u8]) -> String {
        format!("'\\x{}'::bytea", hex::encode(bytes))
    }

    /// Opens a ledger file whose tables had these migrations, and which held these rows.
    async fn old_file(folder: &std::path::Path, migrated: &[Migration], rows: String) -> Ledger {
        let writer = SqliteDatabase::open(&folder.join("ledger.db")).expect("a file");
        let installation = Installation::File(writer.clone());
        let migrated = installation.migrate("booking", migrated).await;
        migrated.expect("the old tables are created");
        let filled = writer.write(move |tx| tx.execute_batch(&rows).map_err(LedgerError::from));
        filled.await.expect("the old rows are written");
        Ledger::open(installation).await.expect("migrated")
    }

    /// Opens a ledger in PostgreSQL whose tables had these migrations, and which held these rows.
    async fn old_postgresql(
        server: &PostgresServer,
        migrated: &[Migration],
        rows: String,
    ) -> Ledger {
        let database = PostgresDatabase::connect(&server.url()).await;
        let installation = Installation::Server(database.expect("it answers"));
        let migrated = installation.migrate("booking", migrated).await;
        migrated.expect("the old tables are created");
        let filled = server.query(&rows).await;
        filled.expect("the old rows are written");
        Ledger::open(installation).await.expect("migrated")
    }

    #[tokio::test]
    async fn an_old_ledger_file_without_numbered_terms_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = upgrading::filling(as_sqlite);
        let ledger = old_file(folder.path(), BEFORE_TERMS, rows).await;
        upgrading::check_old_orders(ledger).await;
    }

    #[tokio::test]
    async fn an_old_ledger_file_goes_on_selling_what_everyday_sold() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = onsale::filling(as_sqlite);
        let ledger = old_file(folder.path(), BEFORE_WALK_INS, rows).await;
        onsale::check_old_shows(ledger).await;
    }

    #[tokio::test]
    async fn terms_of_an_old_ledger_file_get_the_run_that_was_sold() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = upgrading::with_a_train(as_sqlite);
        let ledger = old_file(folder.path(), BEFORE_RUNS, rows).await;
        upgrading::check_terms_of_a_train(ledger).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn terms_of_an_old_postgresql_ledger_get_the_run_that_was_sold() {
        if must_skip("runs in the terms of an old ledger in PostgreSQL") {
            return;
        }
        let server = PostgresServer::options().without_fsync().start().await;
        let server = server.expect("PostgreSQL starts");
        let rows = upgrading::with_a_train(as_postgresql);
        let ledger = old_postgresql(&server, BEFORE_RUNS, rows).await;
        upgrading::check_terms_of_a_train(ledger).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_old_postgresql_ledger_goes_on_selling_what_everyday_sold() {
        if must_skip("walk-ins of an old ledger in PostgreSQL") {
            return;
        }
        let server = PostgresServer::options().without_fsync().start().await;
        let rows = onsale::filling(as_postgresql);
        let server = server.expect("PostgreSQL starts");
        let ledger = old_postgresql(&server, BEFORE_WALK_INS, rows).await;
        onsale::check_old_shows(ledger).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_old_postgresql_ledger_without_numbered_terms_goes_on() {
        if must_skip("an old ledger in PostgreSQL") {
            return;
        }
        let server = PostgresServer::options().without_fsync().start().await;
        let rows = upgrading::filling(as_postgresql);
        let server = server.expect("PostgreSQL starts");
        let ledger = old_postgresql(&server, BEFORE_TERMS, rows).await;
        upgrading::check_old_orders(ledger).await;
    }

    async fn in_postgresql(groups: &[&[Case]]) {
        if must_skip("the ledger in PostgreSQL") {
            return;
        }
        let server = PostgresServer::options().without_fsync().start().await;
        let server = server.expect("PostgreSQL starts");
        let open = async |url: &str| {
            let database = PostgresDatabase::connect(url).await.expect("it answers");
            Ledger::open(Installation::Server(database))
                .await
                .expect("migrated")
        };
        // Each case gets a copy of the tables, as in the test of the file.
        drop(open(&server.url()).await);
        run_contract(&groups.concat(), async || {
            let url = server.copied_database().await.expect("a fresh database");
            open(&url).await as Books
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_ledger_in_postgresql_keeps_the_contract_of_selling() {
        in_postgresql(SELLING).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_ledger_in_postgresql_keeps_the_contract_of_refunds_and_exchanges() {
        in_postgresql(REFUNDS_AND_EXCHANGES).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_ledger_in_postgresql_keeps_the_contract_of_all_other_data() {
        in_postgresql(OTHER_DATA).await;
    }
}
