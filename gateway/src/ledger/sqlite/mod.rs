//! The embedded ledger: one SQLite file behind the one writer. rusqlite is named only in this folder.

mod draws;
mod joins;
mod lives;
mod notes;
mod passes;
mod rooms;
mod schema;

use async_trait::async_trait;
use fairgate_databases::{Writer, rusqlite};
use fairgate_pass::{Digest, Holder};
use futures_util::FutureExt;

use super::{
    AuditRow, Changed, Copied, DrawRow, Drawn, Durable, Entry, Failure, Freeze, FreezeRecorded,
    JoinRecorded, JoinRow, Ledger, LineRow, PassRow, ReleaseRow, RoomLife, RoomRow, RoomVersion,
    Sample, Sealed, StoredLine, StoredPlace,
};
use crate::room::{Document, Facts};

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// The gateway's tables in the shared file.
#[derive(Clone)]
pub struct Sqlite {
    writer: Writer,
}

impl Sqlite {
    /// Brings the gateway's tables up to date and serves them.
    ///
    /// # Errors
    /// Where a migration fails, or the file is newer than this program.
    pub async fn open(writer: Writer) -> Result<Self, Failure> {
        writer.migrate("gateway", schema::MIGRATIONS).await?;
        Ok(Self { writer })
    }
}

#[async_trait]
impl Ledger for Sqlite {
    async fn rooms(&self) -> Result<Vec<RoomRow>, Failure> {
        self.writer.read(rooms::all).await
    }

    async fn room(&self, room: &str) -> Result<Option<RoomRow>, Failure> {
        let room = room.to_owned();
        self.writer.read(move |c| rooms::one(c, &room)).await
    }

    async fn versions(&self) -> Result<Vec<RoomVersion>, Failure> {
        self.writer.read(rooms::versions).await
    }

    async fn create_room(&self, row: RoomRow, entry: Entry) -> Result<bool, Failure> {
        self.writer
            .write(move |tx| rooms::create(tx, &row, &entry))
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
        let room = room.to_owned();
        self.writer
            .write(move |tx| {
                rooms::change(
                    tx,
                    &room,
                    version,
                    (&document, &facts),
                    before_joins,
                    entry.as_ref(),
                )
            })
            .await
    }

    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: Entry,
    ) -> Result<Changed, Failure> {
        let room = room.to_owned();
        self.writer
            .write(move |tx| rooms::put_codes(tx, &room, &codes, &entry))
            .await
    }

    fn record_join(&self, room: &str, join: JoinRow) -> Durable<JoinRecorded> {
        let room = room.to_owned();
        self.writer
            .enqueue(move |tx| joins::record(tx, &room, &join))
            .boxed()
    }

    fn record_leave(&self, room: &str, number: u64, at: i64, void: bool) -> Durable<()> {
        let room = room.to_owned();
        self.writer
            .enqueue(move |tx| joins::leave(tx, &room, number, at, void))
            .boxed()
    }

    fn record_freeze(
        &self,
        room: &str,
        freeze: Freeze,
        life: Option<u64>,
    ) -> Durable<FreezeRecorded> {
        let room = room.to_owned();
        self.writer
            .enqueue(move |tx| draws::freeze(tx, &room, freeze, life))
            .boxed()
    }

    fn barrier(&self) -> Durable<()> {
        self.writer.enqueue(|_| Ok::<_, Failure>(())).boxed()
    }

    async fn check(&self) -> Result<(), Failure> {
        Ok(self.writer.check().await?)
    }

    async fn line(&self, room: &str) -> Result<StoredLine, Failure> {
        let room = room.to_owned();
        self.writer.read(move |c| joins::line(c, &room)).await
    }

    async fn bare_line(&self, room: &str) -> Result<StoredLine, Failure> {
        let room = room.to_owned();
        self.writer.read(move |c| joins::bare_line(c, &room)).await
    }

    async fn places(&self, room: &str, from: u64, max: u32) -> Result<Vec<StoredPlace>, Failure> {
        let room = room.to_owned();
        self.writer
            .read(move |c| joins::places(c, &room, from, i64::from(max)))
            .await
    }

    async fn place_of(&self, room: &str, holder: Holder) -> Result<Option<StoredPlace>, Failure> {
        let room = room.to_owned();
        self.writer
            .read(move |c| joins::place_of(c, &room, holder))
            .await
    }

    async fn leaves(&self, room: &str, n: u64) -> Result<Vec<u8>, Failure> {
        let room = room.to_owned();
        self.writer.read(move |c| joins::leaves(c, &room, n)).await
    }

    async fn begin_life(
        &self,
        room: &str,
        from: u64,
        above: u64,
        at: i64,
    ) -> Result<RoomLife, Failure> {
        let room = room.to_owned();
        self.writer
            .write(move |tx| lives::begin(tx, &room, from, above, at))
            .await
    }

    async fn reserve(
        &self,
        room: &str,
        incarnation: u64,
        upto: u64,
    ) -> Result<Option<RoomLife>, Failure> {
        let room = room.to_owned();
        self.writer
            .write(move |tx| lives::reserve(tx, &room, incarnation, upto))
            .await
    }

    async fn lives(&self) -> Result<Vec<(String, RoomLife)>, Failure> {
        self.writer.read(lives::all).await
    }

    async fn copy_line(
        &self,
        room: &str,
        incarnation: u64,
        rows: Vec<LineRow>,
    ) -> Result<Option<Copied>, Failure> {
        let room = room.to_owned();
        self.writer
            .write(move |tx| lives::copy(tx, &room, incarnation, &rows))
            .await
    }

    async fn draw(&self, room: &str) -> Result<DrawRow, Failure> {
        let room = room.to_owned();
        self.writer.read(move |c| draws::read(c, &room)).await
    }

    async fn seal(&self, room: &str, sealed: Sealed, entry: Entry) -> Result<Sealed, Failure> {
        let room = room.to_owned();
        self.writer
            .write(move |tx| draws::seal(tx, &room, &sealed, &entry))
            .await
    }

    async fn record_draw(&self, room: &str, drawn: Drawn, entry: Entry) -> Result<Drawn, Failure> {
        let room = room.to_owned();
        self.writer
            .write(move |tx| draws::record(tx, &room, &drawn, &entry))
            .await
    }

    async fn release(&self, room: &str) -> Result<ReleaseRow, Failure> {
        let room = room.to_owned();
        self.writer.read(move |c| draws::release(c, &room)).await
    }

    async fn advance(
        &self,
        room: &str,
        from: &ReleaseRow,
        to: &ReleaseRow,
    ) -> Result<bool, Failure> {
        let (room, from, to) = (room.to_owned(), from.clone(), to.clone());
        self.writer
            .write(move |tx| draws::advance(tx, &room, &from, &to))
            .await
    }

    async fn claim(&self, room: &str, fresh: PassRow, now_s: i64) -> Result<PassRow, Failure> {
        let room = room.to_owned();
        self.writer
            .write(move |tx| passes::claim(tx, &room, fresh, now_s))
            .await
    }

    async fn finish(
        &self,
        room: &str,
        cursor: u64,
        holders: &[Holder],
        at: i64,
    ) -> Result<(), Failure> {
        let (room, holders) = (room.to_owned(), holders.to_vec());
        self.writer
            .write(move |tx| passes::finish(tx, &room, cursor, &holders, at))
            .await
    }

    async fn audit(&self, room: &str) -> Result<Vec<AuditRow>, Failure> {
        let room = room.to_owned();
        self.writer.read(move |c| notes::audit(c, &room)).await
    }

    async fn note(&self, room: &str, entry: Entry) -> Result<(), Failure> {
        let room = room.to_owned();
        self.writer
            .write(move |tx| notes::append(tx, &room, &entry))
            .await
    }

    async fn sample(&self, room: &str, sample: Sample) -> Result<(), Failure> {
        let room = room.to_owned();
        self.writer
            .write(move |tx| notes::add_sample(tx, &room, &sample))
            .await
    }

    async fn samples(&self, room: &str) -> Result<Vec<Sample>, Failure> {
        let room = room.to_owned();
        self.writer.read(move |c| notes::samples(c, &room)).await
    }

    async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, Failure> {
        Ok(self.writer.lease(name, owner, ttl_ms).await?)
    }

    async fn let_go(&self, name: &str, owner: &str) -> Result<(), Failure> {
        Ok(self.writer.let_go(name, owner).await?)
    }

    async fn now_ms(&self) -> Result<i64, Failure> {
        Ok(self.writer.now_ms().await?)
    }

    async fn id(&self) -> Result<[u8; 32], Failure> {
        Ok(self.writer.id().await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_sqlite_ledger_keeps_the_contract_even_over_reopening() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("ledger.db");
        super::super::contract::suite(|| async {
            let writer = Writer::open(&path).expect("the file opens");
            std::sync::Arc::new(Sqlite::open(writer).await.expect("migrates"))
        })
        .await;
    }

    #[tokio::test]
    async fn the_keys_of_an_older_file_go_on_signing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let writer = Writer::open(&folder.path().join("ledger.db")).expect("the file opens");
        let older = &schema::MIGRATIONS[..3];
        writer.migrate("gateway", older).await.expect("it migrates");
        let key = fairgate_pass::StoredKey::generate(1).expect("a key");
        let (kid, stored) = (key.kid.clone(), serde_json::to_string(&key).expect("JSON"));
        let sql = "INSERT INTO gw_keys (kid, stored) VALUES (?1, ?2)";
        let put = writer.write(move |tx| Ok::<_, Failure>(tx.execute(sql, (key.kid, stored))?));
        put.await.expect("it is written");
        Sqlite::open(writer.clone()).await.expect("it migrates");
        let installation = fairgate_databases::Installation::File(writer);
        let keyring = booking::door::signing::keyring(&installation, 2_000).await;
        assert_eq!(keyring.expect("keys").kid(), kid);
    }
}
