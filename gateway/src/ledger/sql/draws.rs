//! Freeze, root, draw and release counter: each written once or moved by compare-and-set.

use fairgate_databases::Tx;
use fairgate_pass::Digest;

use super::{lives, notes};
use crate::ledger::columns::{bytes32, signed, unsigned};
use crate::ledger::{DrawRow, Drawn, Entry, Failure, Freeze, FreezeRecorded, ReleaseRow, Sealed};

pub(super) async fn read(tx: &Tx, room: &str) -> Result<DrawRow, Failure> {
    let sql =
        "SELECT n, frozen_at, voids, root, signature, seed, drawn_at FROM gw_draws WHERE room = $1";
    let Some(row) = tx.first(sql, &[&room]).await? else {
        return Ok(DrawRow::default());
    };
    let freeze = Freeze {
        n: unsigned(row.get(0))?,
        at: row.get(1),
    };
    let sealed: (Option<i64>, Option<&[u8]>, Option<String>) = (row.get(2), row.get(3), row.get(4));
    let sealed = match sealed {
        (Some(voids), Some(root), Some(signature)) => Some(Sealed {
            voids: unsigned(voids)?,
            root: Digest(bytes32(root)?),
            signature,
        }),
        _ => None,
    };
    let drawn: (Option<&[u8]>, Option<i64>) = (row.get(5), row.get(6));
    let drawn = match drawn {
        (Some(seed), Some(at)) => Some(Drawn {
            seed: Digest(bytes32(seed)?),
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

/// Under the lock of the room's life: what is being copied is below the freeze and in the ledger, or comes after it
/// and is refused.
pub(super) async fn freeze(
    tx: &Tx,
    room: &str,
    freeze: Freeze,
    life: Option<u64>,
) -> Result<FreezeRecorded, Failure> {
    let standing = lives::locked(tx, room).await?;
    if let Some(stands) = read(tx, room).await?.freeze {
        return Ok(FreezeRecorded::Stands(stands));
    }
    if let Some(incarnation) = life {
        let Some(life) = standing.filter(|life| life.incarnation == incarnation) else {
            return Ok(FreezeRecorded::OtherLife);
        };
        if freeze.at < life.freezes_from() {
            return Ok(FreezeRecorded::NotBefore(life.freezes_from()));
        }
    }
    tx.execute(
        "INSERT INTO gw_draws (room, n, frozen_at) VALUES ($1, $2, $3) ON CONFLICT (room) DO NOTHING",
        &[&room, &signed(freeze.n), &freeze.at],
    )
    .await?;
    let stands = read(tx, room).await?.freeze;
    stands
        .map(FreezeRecorded::Stands)
        .ok_or_else(|| Failure::Corrupt("a freeze vanished".into()))
}

pub(super) async fn seal(
    tx: &Tx,
    room: &str,
    sealed: &Sealed,
    entry: &Entry,
) -> Result<Sealed, Failure> {
    let written = tx
        .execute(
            "UPDATE gw_draws SET voids = $1, root = $2, signature = $3 WHERE room = $4 AND root IS NULL",
            &[
                &signed(sealed.voids),
                &sealed.root.0.as_slice(),
                &sealed.signature,
                &room,
            ],
        )
        .await?;
    if written == 1 {
        notes::append(tx, room, entry).await?;
    }
    read(tx, room)
        .await?
        .sealed
        .ok_or_else(|| Failure::Corrupt("a root without a freeze".into()))
}

pub(super) async fn record(
    tx: &Tx,
    room: &str,
    drawn: &Drawn,
    entry: &Entry,
) -> Result<Drawn, Failure> {
    let written = tx
        .execute(
            "UPDATE gw_draws SET seed = $1, drawn_at = $2 WHERE room = $3 AND seed IS NULL AND root IS NOT NULL",
            &[&drawn.seed.0.as_slice(), &drawn.at, &room],
        )
        .await?;
    if written == 1 {
        notes::append(tx, room, entry).await?;
    }
    read(tx, room)
        .await?
        .drawn
        .ok_or_else(|| Failure::Corrupt("a draw without a root".into()))
}

pub(super) async fn release(tx: &Tx, room: &str) -> Result<ReleaseRow, Failure> {
    let sql = "SELECT released, remainder_u, ticked_at, memory FROM gw_releases WHERE room = $1";
    let Some(row) = tx.first(sql, &[&room]).await? else {
        return Ok(ReleaseRow::default());
    };
    Ok(ReleaseRow {
        released: unsigned(row.get(0))?,
        remainder_u: unsigned(row.get(1))?,
        ticked_at: row.get(2),
        memory: row.get(3),
    })
}

pub(super) async fn advance(
    tx: &Tx,
    room: &str,
    from: &ReleaseRow,
    to: &ReleaseRow,
) -> Result<bool, Failure> {
    if to.released < from.released {
        return Ok(false);
    }
    let (released, remainder_u) = (signed(to.released), signed(to.remainder_u));
    // No row is the beginning: of two that move the counter from there, one makes the row.
    if *from == ReleaseRow::default() {
        let made = tx
            .execute(
                "INSERT INTO gw_releases (room, released, remainder_u, ticked_at, memory) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (room) DO NOTHING",
                &[&room, &released, &remainder_u, &to.ticked_at, &to.memory],
            )
            .await?;
        if made == 1 {
            return Ok(true);
        }
    }
    let moved = tx
        .execute(
            "UPDATE gw_releases SET released = $2, remainder_u = $3, ticked_at = $4, memory = $5
             WHERE room = $1 AND released = $6 AND remainder_u = $7 AND ticked_at = $8 AND memory = $9",
            &[
                &room,
                &released,
                &remainder_u,
                &to.ticked_at,
                &to.memory,
                &signed(from.released),
                &signed(from.remainder_u),
                &from.ticked_at,
                &from.memory,
            ],
        )
        .await?;
    Ok(moved == 1)
}
