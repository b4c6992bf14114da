//! Decides what the ledger writes for rows that are copied from Redis. The decision depends only on
//! what the ledger has recorded of the rows' numbers, holders and codes. It is therefore the same
//! for every database.

use std::collections::{BTreeMap, HashMap};

use fairgate_pass::{Digest, Holder};

use super::{JoinRow, LineCopyOutcome, LineFeedEntry};

/// What the ledger has recorded of a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedNumber {
    pub(super) holder: Holder,
    pub(super) left: bool,
    pub(super) void: bool,
}

/// What the ledger has recorded of the numbers, holders and codes in the rows.
#[derive(Debug, Default)]
pub(super) struct RecordedLineState {
    /// Numbers from this one on were not reserved.
    pub(super) ceiling: u64,
    /// Numbers below this are frozen.
    pub(super) frozen: u64,
    pub(super) numbers: HashMap<u64, RecordedNumber>,
    /// The living number of each holder.
    pub(super) living: HashMap<Holder, u64>,
    /// The number that used each code, or `None` for an unused code. Codes that the room does not
    /// have are missing here.
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

/// A place that the ledger does not have yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NewPlaceRow {
    pub(super) join: JoinRow,
    pub(super) left_at: Option<i64>,
    pub(super) void: bool,
}

/// A recorded place whose visitor left, or whose number is now void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndedPlace {
    pub(super) number: u64,
    pub(super) at: i64,
    pub(super) void: bool,
}

/// The writes. They must be made in this order: places that end, codes that are used, new rows.
#[derive(Debug, Default)]
pub(super) struct LineWrites {
    pub(super) ended: Vec<EndedPlace>,
    pub(super) used: Vec<(Digest, u64)>,
    pub(super) rows: BTreeMap<u64, NewPlaceRow>,
    pub(super) copied: LineCopyOutcome,
}

/// Decides what to write for `rows`, in their order.
pub(super) fn decide(rows: &[LineFeedEntry], state: RecordedLineState) -> LineWrites {
    let mut deciding = LineCopyDecider {
        state,
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
    state: RecordedLineState,
    writes: LineWrites,
}

impl LineCopyDecider {
    fn apply_join(&mut self, join: JoinRow) {
        let number = join.number;
        if let Some(recorded) = self.state.numbers.get(&number) {
            if recorded.holder != join.holder {
                self.writes.copied.refused.push(number);
            } else if recorded.void {
                self.writes.copied.voided.push(number);
            }
            return;
        }
        if number >= self.state.ceiling || number < self.state.frozen {
            self.writes.copied.refused.push(number);
            return;
        }
        let other_number = self.state.living.get(&join.holder).copied();
        // The code is checked even if the holder has a lower number, because the code of a void
        // number stays used.
        let code_is_gone = self.mark_code_unless_gone(&join, other_number);
        let is_void =
            other_number.is_some_and(|other_number| other_number < number) || code_is_gone;
        if is_void {
            self.writes.copied.voided.push(number);
        } else if let Some(higher) = other_number {
            self.apply_leave(higher, join.at, true);
            self.writes.copied.voided.push(higher);
        }
        if !is_void {
            self.state.living.insert(join.holder, number);
        }
        let recorded = RecordedNumber {
            holder: join.holder,
            left: is_void,
            void: is_void,
        };
        self.state.numbers.insert(number, recorded);
        let row = NewPlaceRow {
            join,
            left_at: is_void.then_some(join.at),
            void: is_void,
        };
        self.writes.rows.insert(number, row);
    }

    /// Marks the code as used by this number, unless another holder has used the code. If
    /// `other_number`, the holder's other number, has used the code, the lower of the two numbers
    /// keeps it. Returns whether the code is gone: another holder has used it, or the room has no
    /// such code.
    fn mark_code_unless_gone(&mut self, join: &JoinRow, other_number: Option<u64>) -> bool {
        let Some(code) = join.code else {
            return false;
        };
        let Some(used_by) = self.state.codes.get_mut(&code) else {
            return true;
        };
        match *used_by {
            // The lower number keeps the code.
            Some(by) if Some(by) == other_number && by < join.number => return false,
            Some(by) if Some(by) != other_number => return true,
            Some(_) | None => {}
        }
        *used_by = Some(join.number);
        self.writes.used.retain(|(used, _)| *used != code);
        self.writes.used.push((code, join.number));
        false
    }

    fn apply_leave(&mut self, number: u64, at: i64, void: bool) {
        let Some(recorded) = self.state.numbers.get_mut(&number) else {
            return;
        };
        if recorded.left {
            return;
        }
        let void = void && number >= self.state.frozen;
        (recorded.left, recorded.void) = (true, void);
        self.state.living.remove(&recorded.holder);
        if let Some(row) = self.writes.rows.get_mut(&number) {
            (row.left_at, row.void) = (Some(at), void);
        } else {
            self.writes.ended.push(EndedPlace { number, at, void });
        }
    }
}
