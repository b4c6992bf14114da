//! Stores the root, the draw and the release counter, and reads the freeze. The root and the draw
//! are written once. The counter moves by compare-and-set.

use fairgate_databases::{SqlTransaction, ToSqlValue};
use fairgate_pass::Digest;
use futures_util::FutureExt;

use super::columns::Result;
use super::{RoomLedger, notes};
use crate::ledger::{
    DrawRow, LedgerError, LineFreeze, PublishedDraw, PublishedFreeze, ReleaseRow, RoomAuditEntry,
};

impl RoomLedger {
    /// Reads how far the draw of a room has come.
    pub async fn draw(&self, room: &str) -> Result<DrawRow> {
        self.installation
            .read(room.to_owned(), |tx, room| stored_draw(tx, room).boxed())
            .await
    }

    /// Stores the root and the signature of a freeze, together with the audit row. A second seal
    /// changes nothing. Returns the stored seal.
    pub async fn seal(
        &self,
        room: &str,
        sealed: PublishedFreeze,
        entry: RoomAuditEntry,
    ) -> Result<PublishedFreeze> {
        let arguments = (room.to_owned(), sealed, entry);
        self.installation
            .write(arguments, |tx, (room, sealed, entry)| {
                seal_draw(tx, room, sealed, entry).boxed()
            })
            .await
    }

    /// Stores the seed, together with the audit row. A second draw changes nothing. Returns the
    /// stored draw.
    pub async fn record_draw(
        &self,
        room: &str,
        drawn: PublishedDraw,
        entry: RoomAuditEntry,
    ) -> Result<PublishedDraw> {
        let arguments = (room.to_owned(), drawn, entry);
        self.installation
            .write(arguments, |tx, (room, drawn, entry)| {
                record_draw(tx, room, drawn, entry).boxed()
            })
            .await
    }

    /// Reads the release counter.
    pub async fn read_release_counter(&self, room: &str) -> Result<ReleaseRow> {
        self.installation
            .read(room.to_owned(), |tx, room| {
                release_counter(tx, room).boxed()
            })
            .await
    }

    /// Moves the counter to `to` if it still equals `from`. Never moves it backwards. Returns
    /// whether it moved.
    pub async fn advance_release_counter(
        &self,
        room: &str,
        from: &ReleaseRow,
        to: &ReleaseRow,
    ) -> Result<bool> {
        let arguments = (room.to_owned(), from.clone(), to.clone());
        self.installation
            .write(arguments, |tx, (room, from, to)| {
                advance_counter(tx, room, from, to).boxed()
            })
            .await
    }
}

pub(super) async fn stored_draw(tx: &SqlTransaction, room: &str) -> Result<DrawRow> {
    let sql =
        "SELECT n, frozen_at, voids, root, signature, seed, drawn_at FROM gw_draws WHERE room = $1";
    let Some(row) = tx.first(sql, &[&room]).await? else {
        return Ok(DrawRow::default());
    };
    let freeze = LineFreeze {
        n: row.get(0)?,
        at: row.get(1)?,
    };
    let sealed = match (row.get(2)?, row.get(3)?, row.get(4)?) {
        (Some(voids), Some(root), Some(signature)) => Some(PublishedFreeze {
            voids,
            root: Digest(root),
            signature,
        }),
        _ => None,
    };
    let drawn = match (row.get(5)?, row.get(6)?) {
        (Some(seed), Some(at)) => Some(PublishedDraw {
            seed: Digest(seed),
            at,
        }),
        _ => None,
    };
    Ok(DrawRow {
        freeze: Some(freeze),
        sealed,
        drawn,
    })
}

/// Reads the number below which all numbers are frozen. It is 0 before the freeze.
pub(super) async fn frozen_below(tx: &SqlTransaction, room: &str) -> Result<u64> {
    let draw = stored_draw(tx, room).await?;
    Ok(draw.freeze.map_or(0, |freeze| freeze.n))
}

pub(super) async fn seal_draw(
    tx: &SqlTransaction,
    room: &str,
    sealed: &PublishedFreeze,
    entry: &RoomAuditEntry,
) -> Result<PublishedFreeze> {
    let sql = "UPDATE gw_draws SET voids = $1, root = $2, signature = $3
         WHERE room = $4 AND root IS NULL";
    let written = tx
        .execute(
            sql,
            &[&sealed.voids, &sealed.root.0, &sealed.signature, &room],
        )
        .await?;
    if written == 1 {
        notes::append_entry(tx, room, entry).await?;
    }
    let stored = stored_draw(tx, room).await?.sealed;
    stored.ok_or_else(|| LedgerError::Corrupt("a root without a freeze".into()))
}

pub(super) async fn record_draw(
    tx: &SqlTransaction,
    room: &str,
    drawn: &PublishedDraw,
    entry: &RoomAuditEntry,
) -> Result<PublishedDraw> {
    let sql = "UPDATE gw_draws SET seed = $1, drawn_at = $2
         WHERE room = $3 AND seed IS NULL AND root IS NOT NULL";
    let written = tx.execute(sql, &[&drawn.seed.0, &drawn.at, &room]).await?;
    if written == 1 {
        notes::append_entry(tx, room, entry).await?;
    }
    let stored = stored_draw(tx, room).await?.drawn;
    stored.ok_or_else(|| LedgerError::Corrupt("a draw without a root".into()))
}

pub(super) async fn release_counter(tx: &SqlTransaction, room: &str) -> Result<ReleaseRow> {
    let sql = "SELECT released, remainder_u, ticked_at, memory FROM gw_releases WHERE room = $1";
    let Some(row) = tx.first(sql, &[&room]).await? else {
        return Ok(ReleaseRow::default());
    };
    Ok(ReleaseRow {
        released: row.get(0)?,
        remainder_u: row.get(1)?,
        ticked_at: row.get(2)?,
        memory: row.get(3)?,
    })
}

pub(super) async fn advance_counter(
    tx: &SqlTransaction,
    room: &str,
    from: &ReleaseRow,
    to: &ReleaseRow,
) -> Result<bool> {
    if to.released < from.released {
        return Ok(false);
    }
    // A counter that has never moved has no row. If two nodes move it at once, only one of them
    // inserts the row.
    if *from == ReleaseRow::default() && begin_counter(tx, room, to).await? {
        return Ok(true);
    }
    let sql = "UPDATE gw_releases SET released = $2, remainder_u = $3, ticked_at = $4, memory = $5
         WHERE room = $1 AND released = $6 AND remainder_u = $7 AND ticked_at = $8 AND memory = $9";
    let moved = tx
        .execute(
            sql,
            &[
                &room,
                &to.released,
                &to.remainder_u,
                &to.ticked_at,
                &to.memory,
                &from.released,
                &from.remainder_u,
                &from.ticked_at,
                &from.memory,
            ],
        )
        .await?;
    Ok(moved == 1)
}

async fn begin_counter(tx: &SqlTransaction, room: &str, to: &ReleaseRow) -> Result<bool> {
    let sql = "INSERT INTO gw_releases (room, released, remainder_u, ticked_at, memory)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (room) DO NOTHING";
    let values: [&(dyn ToSqlValue + Sync); 5] = [
        &room,
        &to.released,
        &to.remainder_u,
        &to.ticked_at,
        &to.memory,
    ];
    Ok(tx.execute(sql, &values).await? == 1)
}
