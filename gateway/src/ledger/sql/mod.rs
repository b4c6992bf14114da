//! The ledger of many nodes: PostgreSQL. tokio-postgres is named only in this folder, and there only by its rows.
//!
//! Every method is one transaction on a task of its own, so that a caller who goes away cancels nothing half-way.
//! It may be run again from its beginning, so it decides anew each time from what it reads.

mod draws;
mod joins;
mod lives;
mod migrations;
mod notes;
mod passes;
mod queue;
mod rooms;

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_databases::{Database, Tx};
use fairgate_pass::{Digest, Holder};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{
    AuditRow, Changed, Copied, DrawRow, Drawn, Durable, Entry, Failure, Freeze, FreezeRecorded,
    JoinRecorded, JoinRow, Ledger, LineRow, PassRow, ReleaseRow, RoomLife, RoomRow, RoomVersion,
    Sample, Sealed, StoredLine, StoredPlace,
};
use crate::room::{Document, Facts};
use queue::{Queue, Write, Wrote};

/// The gateway's tables in the shared database.
#[derive(Clone)]
pub struct Postgres {
    database: Database,
    queue: Queue,
}

impl Postgres {
    /// Brings the gateway's tables up to date and serves them.
    ///
    /// # Errors
    /// Where a migration fails, or the database is newer than this program.
    pub async fn open(database: Database) -> Result<Self, Failure> {
        database.migrate("gateway", migrations::MIGRATIONS).await?;
        Ok(Self {
            queue: Queue::start(database.clone()),
            database,
        })
    }
}

impl Postgres {
    /// One domain transaction over what was `given`.
    async fn write<A, T, F>(&self, given: A, transaction: F) -> Result<T, Failure>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'a> Fn(&'a Tx, &'a A) -> BoxFuture<'a, Result<T, Failure>> + Send + Sync + 'static,
    {
        let with = Arc::new((given, transaction));
        self.database
            .write(move |tx| {
                let with = Arc::clone(&with);
                async move { with.1(&tx, &with.0).await }
            })
            .await
    }

    /// One query.
    async fn read<A, T, F>(&self, given: A, query: F) -> Result<T, Failure>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'a> FnOnce(&'a Tx, &'a A) -> BoxFuture<'a, Result<T, Failure>> + Send + 'static,
    {
        self.database
            .read(move |tx| async move { query(&tx, &given).await })
            .await
    }

    /// Several queries that see the same moment, however long they take.
    async fn snapshot<A, T, F>(&self, given: A, query: F) -> Result<T, Failure>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'a> FnOnce(&'a Tx, &'a A) -> BoxFuture<'a, Result<T, Failure>> + Send + 'static,
    {
        self.database
            .snapshot(move |tx| async move { query(&tx, &given).await })
            .await
    }
}

#[async_trait]
impl Ledger for Postgres {
    async fn rooms(&self) -> Result<Vec<RoomRow>, Failure> {
        self.read((), |tx, ()| rooms::all(tx).boxed()).await
    }

    async fn room(&self, room: &str) -> Result<Option<RoomRow>, Failure> {
        self.read(room.to_owned(), |tx, room| rooms::one(tx, room).boxed())
            .await
    }

    async fn versions(&self) -> Result<Vec<RoomVersion>, Failure> {
        self.read((), |tx, ()| rooms::versions(tx).boxed()).await
    }

    async fn create_room(&self, row: RoomRow, entry: Entry) -> Result<bool, Failure> {
        self.write((row, entry), |tx, (row, entry)| {
            rooms::create(tx, row, entry).boxed()
        })
        .await
    }

    async fn change_room(
        &self,
        room: &str,
        version: u64,
        document: Document,
        facts: Facts,
        before_joins: bool,
        entry: Option<Entry>,
    ) -> Result<Changed, Failure> {
        let given = (room.to_owned(), document, facts, entry);
        self.write(given, move |tx, (room, document, facts, entry)| {
            let as_written = (document, facts);
            rooms::change(tx, room, version, as_written, before_joins, entry.as_ref()).boxed()
        })
        .await
    }

    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: Entry,
    ) -> Result<Changed, Failure> {
        let given = (room.to_owned(), codes, entry);
        self.write(given, |tx, (room, codes, entry)| {
            rooms::put_codes(tx, room, codes, entry).boxed()
        })
        .await
    }

    fn record_join(&self, room: &str, join: JoinRow) -> Durable<JoinRecorded> {
        let written = self.queue.push(room, Write::Join(join));
        async move {
            match written.await? {
                Wrote::Join(recorded) => Ok(recorded),
                other => Err(strange(&other)),
            }
        }
        .boxed()
    }

    fn record_leave(&self, room: &str, number: u64, at: i64, void: bool) -> Durable<()> {
        let written = self.queue.push(room, Write::Leave { number, at, void });
        async move { written.await.map(drop) }.boxed()
    }

    fn record_freeze(
        &self,
        room: &str,
        freeze: Freeze,
        life: Option<u64>,
    ) -> Durable<FreezeRecorded> {
        let written = self.queue.push(room, Write::Freeze(freeze, life));
        async move {
            match written.await? {
                Wrote::Freeze(recorded) => Ok(recorded),
                other => Err(strange(&other)),
            }
        }
        .boxed()
    }

    fn barrier(&self) -> Durable<()> {
        let written = self.queue.push("", Write::Nothing);
        async move { written.await.map(drop) }.boxed()
    }

    async fn check(&self) -> Result<(), Failure> {
        Ok(self.database.check().await?)
    }

    async fn line(&self, room: &str) -> Result<StoredLine, Failure> {
        self.snapshot(room.to_owned(), |tx, room| joins::line(tx, room).boxed())
            .await
    }

    async fn bare_line(&self, room: &str) -> Result<StoredLine, Failure> {
        self.snapshot(room.to_owned(), |tx, room| {
            joins::bare_line(tx, room).boxed()
        })
        .await
    }

    async fn places(&self, room: &str, from: u64, max: u32) -> Result<Vec<StoredPlace>, Failure> {
        self.read(room.to_owned(), move |tx, room| {
            joins::places(tx, room, from, i64::from(max)).boxed()
        })
        .await
    }

    async fn place_of(&self, room: &str, holder: Holder) -> Result<Option<StoredPlace>, Failure> {
        self.read(room.to_owned(), move |tx, room| {
            joins::place_of(tx, room, holder).boxed()
        })
        .await
    }

    async fn leaves(&self, room: &str, n: u64) -> Result<Vec<u8>, Failure> {
        self.snapshot(room.to_owned(), move |tx, room| {
            joins::leaves(tx, room, n).boxed()
        })
        .await
    }

    async fn begin_life(
        &self,
        room: &str,
        from: u64,
        above: u64,
        at: i64,
    ) -> Result<RoomLife, Failure> {
        self.write(room.to_owned(), move |tx, room| {
            lives::begin(tx, room, from, above, at).boxed()
        })
        .await
    }

    async fn reserve(
        &self,
        room: &str,
        incarnation: u64,
        upto: u64,
    ) -> Result<Option<RoomLife>, Failure> {
        self.write(room.to_owned(), move |tx, room| {
            lives::reserve(tx, room, incarnation, upto).boxed()
        })
        .await
    }

    async fn lives(&self) -> Result<Vec<(String, RoomLife)>, Failure> {
        self.read((), |tx, ()| lives::all(tx).boxed()).await
    }

    async fn copy_line(
        &self,
        room: &str,
        incarnation: u64,
        rows: Vec<LineRow>,
    ) -> Result<Option<Copied>, Failure> {
        self.write((room.to_owned(), rows), move |tx, (room, rows)| {
            lives::copy(tx, room, incarnation, rows).boxed()
        })
        .await
    }

    async fn draw(&self, room: &str) -> Result<DrawRow, Failure> {
        self.read(room.to_owned(), |tx, room| draws::read(tx, room).boxed())
            .await
    }

    async fn seal(&self, room: &str, sealed: Sealed, entry: Entry) -> Result<Sealed, Failure> {
        let given = (room.to_owned(), sealed, entry);
        self.write(given, |tx, (room, sealed, entry)| {
            draws::seal(tx, room, sealed, entry).boxed()
        })
        .await
    }

    async fn record_draw(&self, room: &str, drawn: Drawn, entry: Entry) -> Result<Drawn, Failure> {
        let given = (room.to_owned(), drawn, entry);
        self.write(given, |tx, (room, drawn, entry)| {
            draws::record(tx, room, drawn, entry).boxed()
        })
        .await
    }

    async fn release(&self, room: &str) -> Result<ReleaseRow, Failure> {
        self.read(room.to_owned(), |tx, room| draws::release(tx, room).boxed())
            .await
    }

    async fn advance(
        &self,
        room: &str,
        from: &ReleaseRow,
        to: &ReleaseRow,
    ) -> Result<bool, Failure> {
        let given = (room.to_owned(), from.clone(), to.clone());
        self.write(given, |tx, (room, from, to)| {
            draws::advance(tx, room, from, to).boxed()
        })
        .await
    }

    async fn claim(&self, room: &str, fresh: PassRow, now_s: i64) -> Result<PassRow, Failure> {
        self.write((room.to_owned(), fresh), move |tx, (room, fresh)| {
            passes::claim(tx, room, fresh, now_s).boxed()
        })
        .await
    }

    async fn finish(
        &self,
        room: &str,
        cursor: u64,
        holders: &[Holder],
        at: i64,
    ) -> Result<(), Failure> {
        let given = (room.to_owned(), holders.to_vec());
        self.write(given, move |tx, (room, holders)| {
            passes::finish(tx, room, cursor, holders, at).boxed()
        })
        .await
    }

    async fn audit(&self, room: &str) -> Result<Vec<AuditRow>, Failure> {
        self.read(room.to_owned(), |tx, room| notes::audit(tx, room).boxed())
            .await
    }

    async fn note(&self, room: &str, entry: Entry) -> Result<(), Failure> {
        self.write((room.to_owned(), entry), |tx, (room, entry)| {
            notes::append(tx, room, entry).boxed()
        })
        .await
    }

    async fn sample(&self, room: &str, sample: Sample) -> Result<(), Failure> {
        self.write((room.to_owned(), sample), |tx, (room, sample)| {
            notes::add_sample(tx, room, sample).boxed()
        })
        .await
    }

    async fn samples(&self, room: &str) -> Result<Vec<Sample>, Failure> {
        self.read(room.to_owned(), |tx, room| notes::samples(tx, room).boxed())
            .await
    }

    async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, Failure> {
        Ok(self.database.lease(name, owner, ttl_ms).await?)
    }

    async fn let_go(&self, name: &str, owner: &str) -> Result<(), Failure> {
        Ok(self.database.let_go(name, owner).await?)
    }

    async fn now_ms(&self) -> Result<i64, Failure> {
        Ok(self.database.now_ms().await?)
    }

    async fn id(&self) -> Result<[u8; 32], Failure> {
        Ok(self.database.id().await?)
    }
}

fn strange(wrote: &Wrote) -> Failure {
    Failure::Corrupt(format!("a queued write came to {wrote:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairgate_servers::{Postgres as Server, or_skip};

    #[tokio::test(flavor = "multi_thread")]
    async fn the_postgresql_ledger_keeps_the_contract_at_two_nodes() {
        if or_skip("the rooms' ledger on PostgreSQL") {
            return;
        }
        let server = Server::options().without_fsync().start().await;
        let server = server.expect("a server");
        let url = server.url();
        super::super::contract::suite(|| async {
            let database = Database::connect(&url).await.expect("it connects");
            Arc::new(Postgres::open(database).await.expect("it migrates"))
        })
        .await;
    }
}
