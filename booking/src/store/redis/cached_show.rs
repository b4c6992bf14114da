//! What a process knows about a show: its picture and the deadlines of its holds, at one point of
//! the feed. These are plain data. Entries of the feed update them, and a snapshot replaces them if
//! the feed has a gap.

use std::collections::{BTreeSet, HashMap};

use fairgate_model::grid::picture::CellPicture;
use fairgate_model::grid::{CellGrid, CellState};
use fairgate_model::holds::{Hold, HoldSignalState};
use fairgate_model::ids::ShowId;
use fairgate_redis::{RedisCallError, RedisReply};

use super::keys::{self, HoldIdTail};
use super::packing::{self, PackedHoldSummary};
use crate::store::{GlancedCells, HoldSignal, SecuredHold, ShowHoldFigures, VersionedCells};

/// A basket's owner is warned this long before the deadline, in milliseconds. The scripts
/// `lib/stored_hold.lua` and `fill_hold.lua` have the same number.
const WARNED_BEFORE_MS: i64 = 60_000;

/// The error for an entry of the feed that does not directly follow the known picture.
pub(super) struct FeedSequenceGap;

pub(super) struct CachedShow {
    pub(super) life: u64,
    pub(super) grid: CellGrid,
    pub(super) picture: CellPicture,
    pub(super) edition: u64,
    plan_version: u32,
    /// The sub-counter. It counts the entries of the feed since the last change of a cell.
    sub: u64,
    holds: HashMap<HoldIdTail, CachedHold>,
    deadlines: BTreeSet<(i64, HoldIdTail)>,
    warnings: BTreeSet<(i64, HoldIdTail)>,
}

struct CachedHold {
    lock_until_ms: i64,
    expires_at_ms: i64,
    warn_at_ms: Option<i64>,
    cells: u64,
    kind: CachedHoldKind,
}

#[derive(PartialEq, Eq)]
enum CachedHoldKind {
    Basket,
    Order,
    /// Not a hold: the entry of the waitlist. Its deadline is the moment until which freed cells
    /// are kept.
    Waitlist,
}

impl CachedHold {
    fn from_summary(summary: &PackedHoldSummary) -> Self {
        Self {
            lock_until_ms: summary.lock_until_ms,
            expires_at_ms: summary.expires_at_ms,
            warn_at_ms: (summary.state == "basket")
                .then_some(summary.expires_at_ms - WARNED_BEFORE_MS),
            cells: summary.cells,
            kind: match summary.state {
                "ordered" => CachedHoldKind::Order,
                "waitlist" => CachedHoldKind::Waitlist,
                _ => CachedHoldKind::Basket,
            },
        }
    }
}

impl CachedShow {
    /// Reads the answer of `show_snapshot`.
    pub(super) fn from_snapshot(reply: &RedisReply) -> Result<Self, RedisCallError> {
        let show = reply.field("show")?;
        let of_show = |name: &str| show.field(name)?.as_count();
        let grid = CellGrid {
            seats: u32::try_from(of_show("seats")?).map_err(|_| wrong_value("too many seats"))?,
            legs: u16::try_from(of_show("legs")?).map_err(|_| wrong_value("too many legs"))?,
        };
        let view = |name: &str| reply.field(name)?.as_bytes();
        let (held, sold, blocked) = (view("held")?, view("sold")?, view("blocked")?);
        let state = |cell| {
            if packing::is_bit_set(sold, cell) {
                CellState::Sold
            } else if packing::is_bit_set(held, cell) {
                CellState::Held
            } else if packing::is_bit_set(blocked, cell) {
                CellState::Blocked
            } else {
                CellState::Free
            }
        };
        let life = of_show("life")?;
        let (counter, sub) = position(reply.field("at")?)?;
        let states = (0..grid.cell_count()).map(state).collect();
        let mut known = Self {
            life,
            grid,
            picture: CellPicture::at_counter(life, counter, states),
            edition: of_show("edition")?,
            plan_version: u32::try_from(of_show("plan")?).map_err(|_| wrong_value("a plan"))?,
            sub,
            holds: HashMap::new(),
            deadlines: BTreeSet::new(),
            warnings: BTreeSet::new(),
        };
        for (tail, summary) in reply.field("holds")?.pairs()? {
            let summary = packing::read_summary(summary.as_bytes()?)?;
            known.insert_hold(
                packing::read_tail(tail.as_bytes()?)?,
                CachedHold::from_summary(&summary),
            );
        }
        Ok(known)
    }

    /// Returns the picture as it is.
    pub(super) fn view(&self) -> VersionedCells {
        VersionedCells {
            version: self.picture.version(),
            states: self.picture.states().to_vec(),
        }
    }

    pub(super) fn glance(&self) -> GlancedCells {
        GlancedCells {
            plan_version: self.plan_version,
            cells: self.view(),
        }
    }

    /// Returns the point of the feed up to which this picture was read: counter and sub-counter.
    pub(super) fn position(&self) -> (u64, u64) {
        (self.picture.counter(), self.sub)
    }

    /// Applies one entry of the feed. `fields` are the fields of the entry with this id. Returns
    /// the signal to the hold's owner, if the entry has one.
    pub(super) fn apply_entry(
        &mut self,
        show: &ShowId,
        id: &str,
        fields: &RedisReply,
    ) -> Result<Result<Option<HoldSignal>, FeedSequenceGap>, RedisCallError> {
        let (counter, sub) = read_position(id)?;
        let known_point = self.position();
        if (counter, sub) != (known_point.0, known_point.1 + 1)
            && (counter, sub) != (known_point.0 + 1, 0)
        {
            return Ok(Err(FeedSequenceGap));
        }
        let change = packing::read_change(fields.field("d")?.as_bytes()?)?;
        if counter > known_point.0 {
            self.picture
                .apply_change(counter, packing::read_cells(change.cells));
        }
        self.sub = sub;
        let state = change.summary.state;
        if state == "lapsed" || state == "gone" {
            self.forget(&change.tail);
        } else {
            self.insert_hold(change.tail, CachedHold::from_summary(&change.summary));
        }
        let Some(state) = HoldSignalState::from_stored(state) else {
            return Ok(Ok(None));
        };
        Ok(Ok(Some(HoldSignal {
            visitor: change.visitor,
            hold: packing::hold_id(show, &change.tail)?,
            state,
            expires_at_ms: change.summary.expires_at_ms,
        })))
    }

    /// Returns whether a sweep at this time would find something.
    pub(super) fn is_due(&self, now_ms: i64) -> bool {
        let first =
            |set: &BTreeSet<(i64, HoldIdTail)>| set.first().is_some_and(|(at, _)| *at <= now_ms);
        first(&self.deadlines) || first(&self.warnings)
    }

    /// Returns whether there is anything with a deadline: a hold, or the waitlist.
    pub(super) fn has_holds(&self) -> bool {
        !self.holds.is_empty()
    }

    pub(super) fn hold_figures(&self, until_ms: i64) -> ShowHoldFigures {
        let mut figures = ShowHoldFigures {
            all: self
                .holds
                .values()
                .filter(|cached| cached.kind != CachedHoldKind::Waitlist)
                .count() as u64,
            ..ShowHoldFigures::default()
        };
        let due = self.deadlines.iter().take_while(|(at, _)| *at <= until_ms);
        for cached in due.filter_map(|(_, tail)| self.holds.get(tail)) {
            if cached.kind == CachedHoldKind::Basket {
                figures.lapsing += 1;
                figures.lapsing_cells += cached.cells;
            }
        }
        figures
    }

    /// Returns the holds that are locked for orders.
    pub(super) fn holds_locked_for_orders(&self, show: &ShowId) -> Vec<SecuredHold> {
        let ordered = self
            .holds
            .iter()
            .filter(|(_, cached)| cached.kind == CachedHoldKind::Order);
        let secured = |(tail, cached): (&HoldIdTail, &CachedHold)| {
            Some(SecuredHold {
                hold: keys::hold_from_tail(show, tail)?,
                expires_at_ms: cached.expires_at_ms,
                lock_until_ms: cached.lock_until_ms,
            })
        };
        ordered.filter_map(secured).collect()
    }

    /// Returns the cells of a wanted hold that are not free in this picture. Returns no cells if
    /// the hold exists already, has another plan, or has more seats than the limit. In these cases
    /// the script decides.
    pub(super) fn surely_taken(&self, hold: &Hold, tail: &HoldIdTail, limit: u32) -> Vec<u32> {
        let may_fit = hold.items.len() <= limit as usize && hold.plan_version == self.plan_version;
        if !may_fit || self.holds.contains_key(tail) {
            return Vec::new();
        }
        let cells = hold.cells(self.grid).into_iter();
        cells
            .filter(|cell| self.picture.state(*cell) != CellState::Free)
            .collect()
    }

    fn insert_hold(&mut self, tail: HoldIdTail, cached: CachedHold) {
        self.forget(&tail);
        self.deadlines.insert((cached.lock_until_ms, tail));
        if let Some(at) = cached.warn_at_ms {
            self.warnings.insert((at, tail));
        }
        self.holds.insert(tail, cached);
    }

    fn forget(&mut self, tail: &HoldIdTail) {
        if let Some(cached) = self.holds.remove(tail) {
            self.deadlines.remove(&(cached.lock_until_ms, *tail));
            if let Some(at) = cached.warn_at_ms {
                self.warnings.remove(&(at, *tail));
            }
        }
    }
}

/// Reads a point of the feed: counter and sub-counter.
pub(super) fn position(reply: &RedisReply) -> Result<(u64, u64), RedisCallError> {
    read_position(reply.as_text()?)
}

fn read_position(text: &str) -> Result<(u64, u64), RedisCallError> {
    text.split_once('-')
        .and_then(|(counter, sub)| Some((counter.parse().ok()?, sub.parse().ok()?)))
        .ok_or_else(|| wrong_value("a number of the feed"))
}

fn wrong_value(name: &str) -> RedisCallError {
    RedisCallError::Wrong(format!("{name} in Redis cannot be read"))
}
