//! Freeze, root, draw and release counter: each written once or moved by compare-and-set.

use fairgate_databases::rusqlite::{Connection, OptionalExtension, params};
use fairgate_pass::Digest;

use super::{lives, notes};
use crate::ledger::columns::{bytes32, signed, unsigned};
use crate::ledger::{DrawRow, Drawn, Entry, Failure, Freeze, FreezeRecorded, ReleaseRow, Sealed};

type Raw = (
    (i64, i64),
    (Option<i64>, Option<Vec<u8>>, Option<String>),
    (Option<Vec<u8>>, Option<i64>),
);

pub(super) fn read(c: &Connection, room: &str) -> Result<DrawRow, Failure> {
    let raw: Option<Raw> = c
        .prepare_cached(
            "SELECT n, frozen_at, voids, root, signature, seed, drawn_at FROM gw_draws WHERE room = ?1",
        )?
        .query_row([room], |row| {
            Ok((
                (row.get(0)?, row.get(1)?),
                (row.get(2)?, row.get(3)?, row.get(4)?),
                (row.get(5)?, row.get(6)?),
            ))
        })
        .optional()?;
    let Some(((n, at), sealed, drawn)) = raw else {
        return Ok(DrawRow::default());
    };
    let sealed = match sealed {
        (Some(voids), Some(root), Some(signature)) => Some(Sealed {
            voids: unsigned(voids)?,
            root: Digest(bytes32(&root)?),
            signature,
        }),
        _ => None,
    };
    let drawn = match drawn {
        (Some(seed), Some(at)) => Some(Drawn {
            seed: Digest(bytes32(&seed)?),
            at,
        }),
        _ => None,
    };
    Ok(DrawRow {
        freeze: Some(Freeze {
            n: unsigned(n)?,
            at,
        }),
        sealed,
        drawn,
    })
}

pub(super) fn freeze(
    c: &Connection,
    room: &str,
    freeze: Freeze,
    life: Option<u64>,
) -> Result<FreezeRecorded, Failure> {
    if let Some(stands) = read(c, room)?.freeze {
        return Ok(FreezeRecorded::Stands(stands));
    }
    if let Some(incarnation) = life {
        let standing = lives::read(c, room)?;
        let Some(life) = standing.filter(|life| life.incarnation == incarnation) else {
            return Ok(FreezeRecorded::OtherLife);
        };
        if freeze.at < life.freezes_from() {
            return Ok(FreezeRecorded::NotBefore(life.freezes_from()));
        }
    }
    c.execute(
        "INSERT INTO gw_draws (room, n, frozen_at) VALUES (?1, ?2, ?3)",
        params![room, signed(freeze.n), freeze.at],
    )?;
    Ok(FreezeRecorded::Stands(freeze))
}

pub(super) fn seal(
    c: &Connection,
    room: &str,
    sealed: &Sealed,
    entry: &Entry,
) -> Result<Sealed, Failure> {
    let written = c.execute(
        "UPDATE gw_draws SET voids = ?1, root = ?2, signature = ?3 WHERE room = ?4 AND root IS NULL",
        params![signed(sealed.voids), sealed.root.0, sealed.signature, room],
    )?;
    if written == 1 {
        notes::append(c, room, entry)?;
    }
    read(c, room)?
        .sealed
        .ok_or_else(|| Failure::Corrupt("a root without a freeze".into()))
}

pub(super) fn record(
    c: &Connection,
    room: &str,
    drawn: &Drawn,
    entry: &Entry,
) -> Result<Drawn, Failure> {
    let written = c.execute(
        "UPDATE gw_draws SET seed = ?1, drawn_at = ?2 WHERE room = ?3 AND seed IS NULL AND root IS NOT NULL",
        params![drawn.seed.0, drawn.at, room],
    )?;
    if written == 1 {
        notes::append(c, room, entry)?;
    }
    read(c, room)?
        .drawn
        .ok_or_else(|| Failure::Corrupt("a draw without a root".into()))
}

pub(super) fn release(c: &Connection, room: &str) -> Result<ReleaseRow, Failure> {
    let raw: Option<(i64, i64, i64, String)> = c
        .prepare_cached(
            "SELECT released, remainder_u, ticked_at, memory FROM gw_releases WHERE room = ?1",
        )?
        .query_row([room], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((released, remainder_u, ticked_at, memory)) = raw else {
        return Ok(ReleaseRow::default());
    };
    Ok(ReleaseRow {
        released: unsigned(released)?,
        remainder_u: unsigned(remainder_u)?,
        ticked_at,
        memory,
    })
}

pub(super) fn advance(
    c: &Connection,
    room: &str,
    from: &ReleaseRow,
    to: &ReleaseRow,
) -> Result<bool, Failure> {
    if to.released < from.released || release(c, room)? != *from {
        return Ok(false);
    }
    c.prepare_cached(
        "INSERT INTO gw_releases (room, released, remainder_u, ticked_at, memory) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (room) DO UPDATE SET released = ?2, remainder_u = ?3, ticked_at = ?4, memory = ?5",
    )?
    .execute(params![
        room,
        signed(to.released),
        signed(to.remainder_u),
        to.ticked_at,
        to.memory
    ])?;
    Ok(true)
}
