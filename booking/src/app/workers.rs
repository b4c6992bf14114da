//! Starts the background workers, and says how often some of them run when nothing wakes them.

use std::time::Duration;

use rand::RngExt;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::Booking;
use crate::catalogue::Catalogue;
use crate::cinema::CinemaCatalogue;
use crate::holds::lapse::sweep_forever;
use crate::inventory::seats::{
    SeatInventory, compare_forever, prolong_forever, reopen_lost_forever,
};
use crate::ledger::{Ledger, LedgerError};
use crate::orders::expire::expire_forever;
use crate::rail::timetables::Timetables;
use crate::wake::WorkerNotifier;
use fairgate_base::log_failed_try;

/// How long the outbox worker sleeps when nothing wakes it.
const OUTBOX_EVERY: Duration = Duration::from_millis(500);

/// How often the catalogue's version is checked.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);

/// How often the newest timetable's number is checked.
const TIMETABLES_EVERY: Duration = Duration::from_secs(2);

/// How often unsettled events, effects and refunds are counted.
const COUNT_EVERY: Duration = Duration::from_secs(5);

impl Booking {
    /// Starts the workers. They run until the set is dropped.
    #[must_use]
    pub fn start(&self) -> JoinSet<()> {
        let mut workers = JoinSet::new();
        let clock = &self.setup.clock;
        workers.spawn(sweep_forever(self.holds.seats.clone(), clock.clone()));
        workers.spawn(expire_forever(
            self.ledger.clone(),
            self.money.notifiers.seats.clone(),
            clock.clone(),
        ));
        workers.spawn(carry_forever(
            self.holds.seats.clone(),
            self.money.notifiers.seats.clone(),
        ));
        workers.spawn(reopen_lost_forever(
            self.holds.seats.clone(),
            self.shows.catalogue.clone(),
        ));
        workers.spawn(compare_forever(self.holds.seats.clone()));
        workers.spawn(prolong_forever(self.holds.seats.clone()));
        workers.spawn(self.waitlist.clone().serve_forever());
        workers.spawn(self.waitlist.clone().report_seen_forever());
        workers.spawn(self.pruner().prune_forever());
        workers.spawn(follow_forever(
            self.shows.catalogue.clone(),
            self.shows.cinemas.clone(),
        ));
        workers.spawn(self.stopped.clone().follow_forever());
        if self.ledger.is_shared() {
            workers.spawn(
                self.counter
                    .clone()
                    .keep_forever(self.shows.catalogue.clone()),
            );
        }
        workers.spawn(follow_timetables_forever(self.shows.timetables.clone()));
        if let (Some(inbox), Some(effects)) = (self.money.inbox.clone(), self.money.effects.clone())
        {
            workers.spawn(inbox.settle_forever());
            workers.spawn(effects.carry_out_forever());
            workers.spawn(self.money.late.clone().settle_forever());
            workers.spawn(count_forever(self.ledger.clone()));
        }
        let owner = hex::encode(rand::rng().random::<[u8; 16]>());
        if let Some(refunding) = self.money.refunding.clone() {
            workers.spawn(refunding.send_refunds_forever());
        }
        workers.spawn(self.money.mass.clone().refund_forever(owner.clone()));
        workers.spawn(self.reconciler().reconcile_forever(owner));
        workers.spawn(self.reconciler().watch_forever());
        workers
    }
}

async fn carry_forever(seats: SeatInventory, notifier: WorkerNotifier) {
    loop {
        match seats.carry_outbox().await {
            Ok(carried) => {
                metrics::counter!("fairgate_seat_rows_delivered_total").increment(carried as u64)
            }
            Err(error) => {
                log_failed_try!(
                    error,
                    "sold and freed seats could not be read; trying again"
                )
            }
        }
        notifier.wait(OUTBOX_EVERY).await;
    }
}

/// Reads the catalogue's changes, so that a change at another node takes effect here within a
/// second.
async fn follow_forever(catalogue: Catalogue, cinemas: CinemaCatalogue) {
    let mut ticks = tokio::time::interval(FOLLOW_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut programme_version = 0;
    loop {
        ticks.tick().await;
        if let Err(error) = follow_once(&catalogue, &cinemas, &mut programme_version).await {
            log_failed_try!(
                error,
                "the catalogue's changes could not be read; trying again"
            );
        }
    }
}

/// Reads the catalogue's changes once. `programme_version` is the catalogue's version at which the
/// programme was last read. A programme is written together with its shows, so a new programme
/// always comes with a new catalogue version. Other calls read the catalogue without the programme.
async fn follow_once(
    catalogue: &Catalogue,
    cinemas: &CinemaCatalogue,
    programme_version: &mut u64,
) -> Result<(), LedgerError> {
    catalogue.refresh_catalogue().await?;
    let version = catalogue.read_version().await;
    if version != *programme_version {
        cinemas.refresh_programme().await?;
        *programme_version = version;
    }
    Ok(())
}

/// Reads new timetables, so that an import by another process takes effect here within a few
/// seconds.
async fn follow_timetables_forever(timetables: Timetables) {
    let mut ticks = tokio::time::interval(TIMETABLES_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match timetables.refresh_timetable().await {
            Ok(true) => tracing::info!("a new timetable is in use"),
            Ok(false) => {}
            Err(error) => {
                log_failed_try!(
                    error,
                    "the newest timetable could not be read; trying again"
                )
            }
        }
    }
}

/// Counts the events that are not settled, and the effects and refunds that are not done. Operators
/// see from these counts whether work piles up.
async fn count_forever(ledger: Ledger) {
    let mut ticks = tokio::time::interval(COUNT_EVERY);
    loop {
        ticks.tick().await;
        match ledger.backlog().await {
            Ok((events, effects)) => {
                metrics::gauge!("fairgate_provider_events_waiting").set(events as f64);
                metrics::gauge!("fairgate_effects_waiting").set(effects as f64);
            }
            Err(error) => {
                log_failed_try!(
                    error,
                    "waiting events and effects could not be counted; trying again"
                )
            }
        }
    }
}
