//! Writes and reads holds and cells in the form that Redis stores. The scripts read the same form
//! (`scripts/lib/base.lua`).

use fairgate_model::grid::CellState;
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldStage};
use fairgate_model::ids::{HoldId, ShowId};
use fairgate_model::shows::terms::UNNUMBERED;
use fairgate_pass::Holder;
use fairgate_redis::{RedisCallError, RedisReply};

use crate::store::redis::keys::{self, HoldIdTail};
use crate::store::redis::scripts::PendingOrderHold;

/// The bytes of one item: seat, first leg, and the leg after the last, all little-endian. Eight
/// unused bytes follow, which once held a price.
const ITEM_BYTES: usize = 16;

pub(super) fn pack_items(items: &[HeldSeat]) -> Vec<u8> {
    let mut out = Vec::with_capacity(items.len() * ITEM_BYTES);
    for item in items {
        out.extend(item.seat.to_le_bytes());
        out.extend(item.legs.start.to_le_bytes());
        out.extend(item.legs.end.to_le_bytes());
        out.extend([0; 8]);
    }
    out
}

fn read_items(bytes: &[u8]) -> Result<Vec<HeldSeat>, RedisCallError> {
    let (records, rest) = bytes.as_chunks::<ITEM_BYTES>();
    if !rest.is_empty() {
        return Err(RedisCallError::Wrong("a hold's items are cut off".into()));
    }
    let read = |record: &[u8; ITEM_BYTES]| {
        let [s0, s1, s2, s3, f0, f1, t0, t1, ..] = *record;
        HeldSeat {
            seat: u32::from_le_bytes([s0, s1, s2, s3]),
            legs: u16::from_le_bytes([f0, f1])..u16::from_le_bytes([t0, t1]),
        }
    };
    Ok(records.iter().map(read).collect())
}

pub(super) fn pack_numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

pub(super) fn read_numbers(bytes: &[u8]) -> Vec<u32> {
    let (records, _) = bytes.as_chunks::<4>();
    records.iter().map(|n| u32::from_le_bytes(*n)).collect()
}

/// A change of a show, as `tell` in `scripts/lib/tell.lua` writes it.
pub(super) struct FeedChange<'a> {
    pub(super) tail: HoldIdTail,
    pub(super) visitor: Holder,
    pub(super) summary: PackedHoldSummary<'a>,
    /// The changed cells, in the form for [`read_cells`].
    pub(super) cells: &'a [u8],
}

/// A hold's summary: its state, deadlines and number of cells.
pub(super) struct PackedHoldSummary<'a> {
    pub(super) state: &'a str,
    pub(super) lock_until_ms: i64,
    pub(super) expires_at_ms: i64,
    pub(super) cells: u64,
}

pub(super) fn read_change(bytes: &[u8]) -> Result<FeedChange<'_>, RedisCallError> {
    let wrong = || RedisCallError::Wrong("a change in the feed cannot be read".into());
    let (tail, rest) = bytes.split_at_checked(32).ok_or_else(wrong)?;
    let (visitor, rest) = rest.split_at_checked(32).ok_or_else(wrong)?;
    let end = rest.iter().position(|byte| *byte == b';');
    let (summary, cells) = rest.split_at(end.ok_or_else(wrong)?);
    Ok(FeedChange {
        tail: read_tail(tail)?,
        visitor: read_holder(visitor)?,
        summary: read_summary(summary)?,
        cells: &cells[1..],
    })
}

/// Reads the summary of a hold: state, lock deadline, the visitor's deadline, and number of cells.
pub(super) fn read_summary(bytes: &[u8]) -> Result<PackedHoldSummary<'_>, RedisCallError> {
    let wrong = || RedisCallError::Wrong("a hold's summary cannot be read".into());
    let text = std::str::from_utf8(bytes).map_err(|_| wrong())?;
    let mut parts = text.split(',');
    let state = parts.next().ok_or_else(wrong)?;
    let mut number = || {
        let number = parts.next().and_then(|part| part.parse::<i64>().ok());
        number.ok_or_else(wrong)
    };
    Ok(PackedHoldSummary {
        state,
        lock_until_ms: number()?,
        expires_at_ms: number()?,
        cells: u64::try_from(number()?).map_err(|_| wrong())?,
    })
}

pub(super) fn read_tail(bytes: &[u8]) -> Result<HoldIdTail, RedisCallError> {
    let tail = bytes.try_into();
    tail.map_err(|_| RedisCallError::Wrong("a hold's id has 32 digits".into()))
}

/// Reads cells with their new states.
pub(super) fn read_cells(bytes: &[u8]) -> impl Iterator<Item = (u32, CellState)> {
    let (records, _) = bytes.as_chunks::<4>();
    records.iter().map(|record| {
        let both = u32::from_le_bytes(*record);
        (both >> 2, CellState::from_bits((both & 3) as u8))
    })
}

/// Returns whether a cell's bit is set, in the bit order of `SETBIT`. A bit after the end counts as
/// not set.
pub(super) fn is_bit_set(bytes: &[u8], cell: u32) -> bool {
    bytes
        .get(cell as usize / 8)
        .is_some_and(|byte| byte >> (7 - cell % 8) & 1 == 1)
}

/// Packs a view that has a bit for each of `cells` cells. The bits of the cells in `set` are 1.
pub(super) fn pack_bits(cells: u32, set: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let mut bytes = vec![0_u8; (cells as usize).div_ceil(8)];
    for cell in set {
        if let Some(byte) = bytes.get_mut(cell as usize / 8) {
            *byte |= 1 << (7 - cell % 8);
        }
    }
    bytes
}

/// Returns the scripts' word for a stage.
pub(super) fn stage(stage: HoldStage) -> &'static str {
    match stage {
        HoldStage::Basket => "basket",
        HoldStage::Ordered => "ordered",
    }
}

/// Builds a whole hold for `fill_hold`.
pub(super) fn filled_hold(hold: &Hold) -> PendingOrderHold {
    PendingOrderHold {
        id: keys::hold_tail(&hold.id),
        visitor: hold.visitor.0,
        plan: hold.plan_version,
        items: pack_items(&hold.items),
        room: hold.room.clone(),
        side_by_side: hold.next_to_each_other,
        expires_ms: hold.expires_at_ms,
        lock_until_ms: hold.lock_until_ms,
        extensions: hold.extensions_left,
        stage: stage(hold.stage),
        purpose: hold.purpose.as_str(),
        terms: hold.terms,
    }
}

/// Reads a hold as `answer_hold` in `scripts/lib/stored_hold.lua` writes it.
pub(super) fn read_hold(id: &HoldId, reply: &RedisReply) -> Result<Hold, RedisCallError> {
    let read_small = |number: &RedisReply| {
        u32::try_from(number.as_count()?)
            .map_err(|_| RedisCallError::Wrong("a number is too large".into()))
    };
    let small = |name: &str| read_small(reply.field(name)?);
    // A hold written by an older version has neither a purpose nor terms.
    let purpose = reply.field("purpose")?.present();
    let terms = reply.field("terms")?.present();
    Ok(Hold {
        id: id.clone(),
        visitor: read_holder(reply.field("visitor")?.as_bytes()?)?,
        room: reply.field("room")?.as_text()?.to_owned(),
        items: read_items(reply.field("items")?.as_bytes()?)?,
        plan_version: small("plan")?,
        next_to_each_other: small("side_by_side")? == 1,
        expires_at_ms: reply.field("expires_ms")?.as_integer()?,
        lock_until_ms: reply.field("lock_until_ms")?.as_integer()?,
        extensions_left: small("extensions")?,
        stage: match reply.field("stage")?.as_bytes()? {
            b"ordered" => HoldStage::Ordered,
            _ => HoldStage::Basket,
        },
        purpose: match purpose {
            Some(purpose) => HoldPurpose::from_stored(purpose.as_bytes()?),
            None => HoldPurpose::Basket,
        },
        terms: terms.map_or(Ok(UNNUMBERED), read_small)?,
    })
}

pub(super) fn read_holder(bytes: &[u8]) -> Result<Holder, RedisCallError> {
    let bytes = bytes
        .try_into()
        .map_err(|_| RedisCallError::Wrong("a holder has 32 bytes".into()))?;
    Ok(Holder(bytes))
}

pub(super) fn hold_id(show: &ShowId, tail: &[u8]) -> Result<HoldId, RedisCallError> {
    keys::hold_from_tail(show, tail)
        .ok_or_else(|| RedisCallError::Wrong("a hold's id cannot be read".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_as_they_were_written() {
        let held = vec![
            HeldSeat {
                seat: 70_000,
                legs: 3..500,
            },
            HeldSeat {
                seat: 0,
                legs: 0..1,
            },
        ];
        assert_eq!(read_items(&pack_items(&held)), Ok(held.clone()));
        assert!(read_items(&pack_items(&held)[1..]).is_err());
    }

    #[test]
    fn a_change_is_read_even_if_the_visitors_bytes_are_semicolons() {
        let visitor = Holder([b';'; 32]);
        let mut bytes = [b'a'; 32].to_vec();
        bytes.extend(visitor.0);
        bytes.extend(b"basket,105,100,2;");
        bytes.extend(pack_numbers(&[7 << 2 | 1, b';'.into()]));
        let change = read_change(&bytes).expect("as it is written");
        assert_eq!((change.tail, change.visitor), ([b'a'; 32], visitor));
        let summary = &change.summary;
        let numbers = (summary.lock_until_ms, summary.expires_at_ms, summary.cells);
        assert_eq!((summary.state, numbers), ("basket", (105, 100, 2)));
        let cells: Vec<_> = read_cells(change.cells).collect();
        assert_eq!(cells, [(7, CellState::Held), (14, CellState::Blocked)]);
        for cut in [0, 40, 70, 80] {
            assert!(read_change(&bytes[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn bits_are_in_the_order_of_setbit() {
        let view = pack_bits(20, [0, 9, 19, 500]);
        assert_eq!(view, [0b1000_0000, 0b0100_0000, 0b0001_0000]);
        let set: Vec<u32> = (0..30).filter(|cell| is_bit_set(&view, *cell)).collect();
        assert_eq!(set, [0, 9, 19]);
    }
}
