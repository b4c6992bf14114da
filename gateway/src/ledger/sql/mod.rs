//! The rooms' ledger over SQL. The same code of each transaction serves a SQLite file and
//! PostgreSQL.
//!
//! Every method is one transaction, which runs to its end even if its caller goes away. Only queued
//! writes can share a transaction. On PostgreSQL a transaction is sometimes run again from its
//! beginning, so each run decides anew from what it reads. Many nodes write to PostgreSQL at once,
//! so unique keys and row locks prevent conflicting writes. A SQLite file has one writer.
//!
//! Statements are written for PostgreSQL, and `fairgate-databases` translates them for SQLite. A
//! function whose name ends with `_fused` sends a whole batch in one statement. It runs only on
//! PostgreSQL, where every statement costs a round trip.

mod columns;
mod copies;
mod draws;
mod joins;
mod lives;
mod migrations;
mod notes;
mod passes;
mod queue;
mod rooms;
mod stops;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use fairgate_databases::Installation;
use fairgate_pass::{Digest, Holder};
use fairgate_rules::phase::RoomFacts;
use fairgate_rules::room_document::RoomDocument;
use futures_util::FutureExt;

use super::{
    AuditRow, DrawRow, DurableWrite, JoinRow, LedgerClaimOutcome, LedgerFreezeOutcome,
    LedgerJoinOutcome, LineCopyOutcome, LineFeedEntry, LineFreeze, PassRow, PassStopCause,
    PlaceSelection, PublishedDraw, PublishedFreeze, ReleaseRow, RoomAuditEntry, RoomChangeOutcome,
    RoomLedger, RoomLedgerFailure, RoomLife, RoomRow, RoomSample, RoomVersion, StoppedPass,
    StoredLine, StoredPlace,
};
use queue::{LineChange, LineChangeOutcome, LineWriteQueue};

/// The gateway's tables in the installation's database.
#[derive(Clone)]
pub struct RoomSqlLedger {
    installation: Installation,
    queue: LineWriteQueue,
}

impl RoomSqlLedger {
    /// Brings the gateway's tables up to date and opens the ledger over them.
    ///
    /// # Errors
    /// Fails if a migration fails, or if the database is newer than this program.
    pub async fn open(installation: Installation) -> Result<Self, RoomLedgerFailure> {
        installation
            .migrate("gateway", migrations::MIGRATIONS)
            .await?;
        Ok(Self {
            queue: LineWriteQueue::start(&installation),
            installation,
        })
    }
}

#[async_trait]
impl RoomLedger for RoomSqlLedger {
    async fn rooms(&self) -> Result<Vec<RoomRow>, RoomLedgerFailure> {
        self.installation
            .read((), |tx, ()| rooms::all_rooms(tx).boxed())
            .await
    }

    async fn room(&self, room: &str) -> Result<Option<RoomRow>, RoomLedgerFailure> {
        self.installation
            .read(room.to_owned(), |tx, room| {
                rooms::one_room(tx, room).boxed()
            })
            .await
    }

    async fn versions(&self) -> Result<Vec<RoomVersion>, RoomLedgerFailure> {
        self.installation
            .read((), |tx, ()| rooms::room_versions(tx).boxed())
            .await
    }

    async fn create_room(
        &self,
        row: RoomRow,
        entry: RoomAuditEntry,
    ) -> Result<bool, RoomLedgerFailure> {
        self.installation
            .write((row, entry), |tx, (row, entry)| {
                rooms::create_room(tx, row, entry).boxed()
            })
            .await
    }

    async fn change_room(
        &self,
        room: &str,
        version: u64,
        document: RoomDocument,
        facts: RoomFacts,
        before_joins: bool,
        entry: Option<RoomAuditEntry>,
    ) -> Result<RoomChangeOutcome, RoomLedgerFailure> {
        let given = (room.to_owned(), document, facts, entry);
        self.installation
            .write(given, move |tx, (room, document, facts, entry)| {
                let to = (document, facts);
                rooms::change_room(tx, room, version, to, before_joins, entry.as_ref()).boxed()
            })
            .await
    }

    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: RoomAuditEntry,
    ) -> Result<RoomChangeOutcome, RoomLedgerFailure> {
        let given = (room.to_owned(), codes, entry);
        self.installation
            .write(given, |tx, (room, codes, entry)| {
                rooms::put_codes(tx, room, codes, entry).boxed()
            })
            .await
    }

    fn record_join(&self, room: &str, join: JoinRow) -> DurableWrite<LedgerJoinOutcome> {
        let written = self.queue.push(room, LineChange::Join(join));
        async move {
            match written.await? {
                LineChangeOutcome::Join(recorded) => Ok(recorded),
                other => Err(unexpected(&other)),
            }
        }
        .boxed()
    }

    fn record_leave(&self, room: &str, number: u64, at: i64, void: bool) -> DurableWrite<()> {
        let written = self
            .queue
            .push(room, LineChange::Leave { number, at, void });
        async move { written.await.map(drop) }.boxed()
    }

    fn record_freeze(
        &self,
        room: &str,
        freeze: LineFreeze,
        life: Option<u64>,
    ) -> DurableWrite<LedgerFreezeOutcome> {
        let written = self.queue.push(room, LineChange::Freeze(freeze, life));
        async move {
            match written.await? {
                LineChangeOutcome::Freeze(recorded) => Ok(recorded),
                other => Err(unexpected(&other)),
            }
        }
        .boxed()
    }

    fn barrier(&self) -> DurableWrite<()> {
        let written = self.queue.push("", LineChange::Nothing);
        async move { written.await.map(drop) }.boxed()
    }

    async fn check(&self) -> Result<(), RoomLedgerFailure> {
        Ok(self.installation.check_writable().await?)
    }

    async fn line(&self, room: &str) -> Result<StoredLine, RoomLedgerFailure> {
        self.installation
            .read_snapshot(room.to_owned(), |tx, room| {
                joins::whole_line(tx, room).boxed()
            })
            .await
    }

    async fn bare_line(&self, room: &str) -> Result<StoredLine, RoomLedgerFailure> {
        self.installation
            .read_snapshot(room.to_owned(), |tx, room| {
                joins::bare_line(tx, room).boxed()
            })
            .await
    }

    async fn places(
        &self,
        room: &str,
        from: u64,
        max: u32,
    ) -> Result<Vec<StoredPlace>, RoomLedgerFailure> {
        self.installation
            .read(room.to_owned(), move |tx, room| {
                joins::stored_places(tx, room, from, i64::from(max)).boxed()
            })
            .await
    }

    async fn place_of(
        &self,
        room: &str,
        holder: Holder,
    ) -> Result<Option<StoredPlace>, RoomLedgerFailure> {
        self.installation
            .read(room.to_owned(), move |tx, room| {
                joins::living_place(tx, room, holder).boxed()
            })
            .await
    }

    async fn leaves(&self, room: &str, n: u64) -> Result<Vec<u8>, RoomLedgerFailure> {
        self.installation
            .read_snapshot(room.to_owned(), move |tx, room| {
                joins::stored_leaves(tx, room, n).boxed()
            })
            .await
    }

    async fn begin_life(
        &self,
        room: &str,
        from: u64,
        above: u64,
        at: i64,
    ) -> Result<RoomLife, RoomLedgerFailure> {
        self.installation
            .write(room.to_owned(), move |tx, room| {
                lives::begin_life(tx, room, from, above, at).boxed()
            })
            .await
    }

    async fn reserve(
        &self,
        room: &str,
        incarnation: u64,
        upto: u64,
    ) -> Result<Option<RoomLife>, RoomLedgerFailure> {
        self.installation
            .write(room.to_owned(), move |tx, room| {
                lives::reserve_numbers(tx, room, incarnation, upto).boxed()
            })
            .await
    }

    async fn lives(&self) -> Result<Vec<(String, RoomLife)>, RoomLedgerFailure> {
        self.installation
            .read((), |tx, ()| lives::all_lives(tx).boxed())
            .await
    }

    async fn copy_line(
        &self,
        room: &str,
        incarnation: u64,
        rows: Vec<LineFeedEntry>,
    ) -> Result<Option<LineCopyOutcome>, RoomLedgerFailure> {
        self.installation
            .write((room.to_owned(), rows), move |tx, (room, rows)| {
                copies::copy_line(tx, room, incarnation, rows).boxed()
            })
            .await
    }

    async fn draw(&self, room: &str) -> Result<DrawRow, RoomLedgerFailure> {
        self.installation
            .read(room.to_owned(), |tx, room| {
                draws::stored_draw(tx, room).boxed()
            })
            .await
    }

    async fn seal(
        &self,
        room: &str,
        sealed: PublishedFreeze,
        entry: RoomAuditEntry,
    ) -> Result<PublishedFreeze, RoomLedgerFailure> {
        let given = (room.to_owned(), sealed, entry);
        self.installation
            .write(given, |tx, (room, sealed, entry)| {
                draws::seal_draw(tx, room, sealed, entry).boxed()
            })
            .await
    }

    async fn record_draw(
        &self,
        room: &str,
        drawn: PublishedDraw,
        entry: RoomAuditEntry,
    ) -> Result<PublishedDraw, RoomLedgerFailure> {
        let given = (room.to_owned(), drawn, entry);
        self.installation
            .write(given, |tx, (room, drawn, entry)| {
                draws::record_draw(tx, room, drawn, entry).boxed()
            })
            .await
    }

    async fn release(&self, room: &str) -> Result<ReleaseRow, RoomLedgerFailure> {
        self.installation
            .read(room.to_owned(), |tx, room| {
                draws::release_counter(tx, room).boxed()
            })
            .await
    }

    async fn forget_networks(
        &self,
        room: &str,
        from: u64,
        max: u32,
        before: i64,
    ) -> Result<Option<u64>, RoomLedgerFailure> {
        self.installation
            .write(room.to_owned(), move |tx, room| {
                joins::forget_networks(tx, room, from, max, before).boxed()
            })
            .await
    }

    async fn advance(
        &self,
        room: &str,
        from: &ReleaseRow,
        to: &ReleaseRow,
    ) -> Result<bool, RoomLedgerFailure> {
        let given = (room.to_owned(), from.clone(), to.clone());
        self.installation
            .write(given, |tx, (room, from, to)| {
                draws::advance_counter(tx, room, from, to).boxed()
            })
            .await
    }

    async fn claim(
        &self,
        room: &str,
        fresh: PassRow,
        now_s: i64,
    ) -> Result<LedgerClaimOutcome, RoomLedgerFailure> {
        self.installation
            .write((room.to_owned(), fresh), move |tx, (room, fresh)| {
                passes::claim_pass(tx, room, fresh, now_s).boxed()
            })
            .await
    }

    async fn selected_places(
        &self,
        room: &str,
        selection: PlaceSelection,
    ) -> Result<Vec<u64>, RoomLedgerFailure> {
        self.installation
            .read((room.to_owned(), selection), |tx, (room, selection)| {
                stops::selected_places(tx, room, selection).boxed()
            })
            .await
    }

    async fn living_places(
        &self,
        room: &str,
        from: u64,
        below: u64,
        max: u32,
    ) -> Result<Vec<u64>, RoomLedgerFailure> {
        self.installation
            .read(room.to_owned(), move |tx, room| {
                stops::living_places(tx, room, from, below, max).boxed()
            })
            .await
    }

    async fn next_number(&self, room: &str) -> Result<u64, RoomLedgerFailure> {
        self.installation
            .read(room.to_owned(), |tx, room| {
                stops::next_number(tx, room).boxed()
            })
            .await
    }

    async fn revoke_places(
        &self,
        room: &str,
        numbers: Vec<u64>,
        cause: (PassStopCause, String),
        at: i64,
        entry: Option<RoomAuditEntry>,
    ) -> Result<u64, RoomLedgerFailure> {
        let given = (room.to_owned(), numbers, cause, entry);
        self.installation
            .write(given, move |tx, (room, numbers, (cause, note), entry)| {
                let cause = (*cause, note.as_str());
                stops::revoke_places(tx, room, numbers, cause, at, entry.as_ref()).boxed()
            })
            .await
    }

    async fn stop_open_passes(
        &self,
        room: &str,
        below: u64,
        cause: (PassStopCause, String),
        now: i64,
    ) -> Result<(), RoomLedgerFailure> {
        self.installation
            .write(
                (room.to_owned(), cause),
                move |tx, (room, (cause, note))| {
                    stops::stop_open_passes(tx, room, below, (*cause, note), now).boxed()
                },
            )
            .await
    }

    async fn stopped_passes(
        &self,
        room: &str,
        after: u64,
        now_s: i64,
    ) -> Result<(u64, Vec<StoppedPass>), RoomLedgerFailure> {
        self.installation
            .read(room.to_owned(), move |tx, room| {
                stops::stopped_passes(tx, room, after, now_s).boxed()
            })
            .await
    }

    async fn finish(
        &self,
        room: &str,
        cursor: u64,
        holders: &[Holder],
        at: i64,
    ) -> Result<(), RoomLedgerFailure> {
        let given = (room.to_owned(), holders.to_vec());
        self.installation
            .write(given, move |tx, (room, holders)| {
                passes::finish_visitors(tx, room, cursor, holders, at).boxed()
            })
            .await
    }

    async fn audit(&self, room: &str) -> Result<Vec<AuditRow>, RoomLedgerFailure> {
        self.installation
            .read(room.to_owned(), |tx, room| {
                notes::stored_audit(tx, room).boxed()
            })
            .await
    }

    async fn note(&self, room: &str, entry: RoomAuditEntry) -> Result<(), RoomLedgerFailure> {
        self.installation
            .write((room.to_owned(), entry), |tx, (room, entry)| {
                notes::append_entry(tx, room, entry).boxed()
            })
            .await
    }

    async fn sample(&self, room: &str, sample: RoomSample) -> Result<(), RoomLedgerFailure> {
        self.installation
            .write((room.to_owned(), sample), |tx, (room, sample)| {
                notes::add_sample(tx, room, sample).boxed()
            })
            .await
    }

    async fn samples(&self, room: &str) -> Result<Vec<RoomSample>, RoomLedgerFailure> {
        self.installation
            .read(room.to_owned(), |tx, room| {
                notes::stored_samples(tx, room).boxed()
            })
            .await
    }

    async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, RoomLedgerFailure> {
        Ok(self.installation.lease(name, owner, ttl_ms).await?)
    }

    async fn end_lease(&self, name: &str, owner: &str) -> Result<(), RoomLedgerFailure> {
        Ok(self.installation.release_lease(name, owner).await?)
    }

    async fn now_ms(&self) -> Result<i64, RoomLedgerFailure> {
        Ok(self.installation.now_ms().await?)
    }

    async fn id(&self) -> Result<[u8; 32], RoomLedgerFailure> {
        Ok(self.installation.ledger_id().await?)
    }
}

fn unexpected(changed: &LineChangeOutcome) -> RoomLedgerFailure {
    RoomLedgerFailure::Corrupt(format!("a queued change came to {changed:?}"))
}
