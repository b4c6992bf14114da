//! What copied rows come to, decided from what the ledger has of their numbers, holders and codes.
//! Pure: every database looks the same things up, and carries the same writes out.

use std::collections::{BTreeMap, HashMap};

use fairgate_pass::{Digest, Holder};

use super::{JoinRow, LineCopyOutcome, LineFeedEntry};

/// A number as it is recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedNumber {
    pub(super) holder: Holder,
    pub(super) left: bool,
    pub(super) void: bool,
}

/// What the ledger has of all that the rows name.
#[derive(Debug, Default)]
pub(super) struct RecordedLineState {
    /// Numbers from here on were not reserved.
    pub(super) ceiling: u64,
    /// Numbers below this are frozen.
    pub(super) frozen: u64,
    pub(super) numbers: HashMap<u64, RecordedNumber>,
    /// The living number of each holder.
    pub(super) living: HashMap<Holder, u64>,
    /// The number that used each code; codes that the room does not have are not in it.
    pub(super) codes: HashMap<Digest, Option<u64>>,
}

impl RecordedLineState {
    /// Adds a place that the ledger has.
    pub(super) fn add_place(&mut self, number: u64, recorded: RecordedNumber) {
        if !recorded.left {
            self.living.insert(recorded.holder, number);
        }
        self.numbers.insert(number, recorded);
    }
}

/// A row that is new to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NewPlaceRow {
    pub(super) join: JoinRow,
    pub(super) left_at: Option<i64>,
    pub(super) void: bool,
}

/// A recorded place that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndedPlace {
    pub(super) number: u64,
    pub(super) at: i64,
    pub(super) void: bool,
}

/// What is to be written, in this order: places that end, codes that are used up, new rows.
#[derive(Debug, Default)]
pub(super) struct LineWrites {
    pub(super) ended: Vec<EndedPlace>,
    pub(super) used: Vec<(Digest, u64)>,
    pub(super) rows: BTreeMap<u64, NewPlaceRow>,
    pub(super) copied: LineCopyOutcome,
}

/// Decides about `rows`, in their order.
pub(super) fn decide(rows: &[LineFeedEntry], known: RecordedLineState) -> LineWrites {
    let mut deciding = LineCopyDecider {
        known,
        writes: LineWrites::default(),
    };
    for row in rows {
        match *row {
            LineFeedEntry::Join(join) => deciding.apply_join(join),
            LineFeedEntry::Leave { number, at, void } => deciding.apply_leave(number, at, void),
        }
    }
    let LineWrites { copied, .. } = &mut deciding.writes;
    for numbers in [&mut copied.voided, &mut copied.refused] {
        numbers.sort_unstable();
        numbers.dedup();
    }
    deciding.writes
}

struct LineCopyDecider {
    known: RecordedLineState,
    writes: LineWrites,
}

impl LineCopyDecider {
    fn apply_join(&mut self, join: JoinRow) {
        let number = join.number;
        if let Some(recorded) = self.known.numbers.get(&number) {
            if recorded.holder != join.holder {
                self.writes.copied.refused.push(number);
            } else if recorded.void {
                self.writes.copied.voided.push(number);
            }
            return;
        }
        if number >= self.known.ceiling || number < self.known.frozen {
            self.writes.copied.refused.push(number);
            return;
        }
        let other = self.known.living.get(&join.holder).copied();
        // Looked at in either case: the code of a void number stays used.
        let code_is_gone = self.code_of_another(&join, other);
        let second = other.is_some_and(|other| other < number) || code_is_gone;
        if second {
            self.writes.copied.voided.push(number);
        } else if let Some(higher) = other {
            self.apply_leave(higher, join.at, true);
            self.writes.copied.voided.push(higher);
        }
        if !second {
            self.known.living.insert(join.holder, number);
        }
        let recorded = RecordedNumber {
            holder: join.holder,
            left: second,
            void: second,
        };
        self.known.numbers.insert(number, recorded);
        let row = NewPlaceRow {
            join,
            left_at: second.then_some(join.at),
            void: second,
        };
        self.writes.rows.insert(number, row);
    }

    /// Uses the code up for this number, also where the holder's `other` one had it; gives whether
    /// somebody else has, or the room has no such code.
    fn code_of_another(&mut self, join: &JoinRow, other: Option<u64>) -> bool {
        let Some(code) = join.code else {
            return false;
        };
        let Some(used_by) = self.known.codes.get_mut(&code) else {
            return true;
        };
        match *used_by {
            // The lower number keeps it.
            Some(by) if Some(by) == other && by < join.number => return false,
            Some(by) if Some(by) != other => return true,
            Some(_) | None => {}
        }
        *used_by = Some(join.number);
        self.writes.used.retain(|(used, _)| *used != code);
        self.writes.used.push((code, join.number));
        false
    }

    fn apply_leave(&mut self, number: u64, at: i64, void: bool) {
        let Some(recorded) = self.known.numbers.get_mut(&number) else {
            return;
        };
        if recorded.left {
            return;
        }
        let void = void && number >= self.known.frozen;
        (recorded.left, recorded.void) = (true, void);
        self.known.living.remove(&recorded.holder);
        if let Some(row) = self.writes.rows.get_mut(&number) {
            (row.left_at, row.void) = (Some(at), void);
        } else {
            self.writes.ended.push(EndedPlace { number, at, void });
        }
    }
}
