//! What a process knows of a show: its picture and its holds' deadlines, as of one point of the
//! feed. Plain data; it is brought forward by what the feed tells and replaced by a snapshot where
//! the feed has a gap.

use std::collections::{BTreeSet, HashMap};

use fairgate_redis::{Error, RedisReply};

use super::keys::{self, Tail};
use super::packing::{self, HoldInShort};
use crate::store::{Baskets, HoldSignal, Secured, View};
use fairgate_model::grid::picture::Picture;
use fairgate_model::grid::{CellState, Grid};
use fairgate_model::holds::Hold;
use fairgate_model::ids::ShowId;

/// How long before its deadline the owner of a hold is told that it runs short; as in
/// `scripts/lib/keep.lua`.
const SHORT_MS: i64 = 60_000;

/// The next change of the feed is not the one after this picture's.
pub(super) struct Gap;

pub(super) struct KnownShow {
    pub(super) life: u64,
    pub(super) grid: Grid,
    pub(super) picture: Picture,
    pub(super) edition: u64,
    plan_version: u32,
    /// The feed's number below the picture's counter.
    sub: u64,
    holds: HashMap<Tail, KeptHold>,
    deadlines: BTreeSet<(i64, Tail)>,
    short_calls: BTreeSet<(i64, Tail)>,
}

struct KeptHold {
    lock_until_ms: i64,
    expires_at_ms: i64,
    short_at_ms: Option<i64>,
    cells: u64,
    kind: KeptKind,
}

#[derive(PartialEq, Eq)]
enum KeptKind {
    Basket,
    Order,
    /// No hold: until when cells that come free are kept for the waitlist.
    Waitlist,
}

impl KeptHold {
    fn of(short: &HoldInShort) -> Self {
        Self {
            lock_until_ms: short.lock_until_ms,
            expires_at_ms: short.expires_at_ms,
            short_at_ms: (short.state == "basket").then_some(short.expires_at_ms - SHORT_MS),
            cells: short.cells,
            kind: match short.state {
                "ordered" => KeptKind::Order,
                "waitlist" => KeptKind::Waitlist,
                _ => KeptKind::Basket,
            },
        }
    }
}

impl KnownShow {
    /// Reads the answer of `snapshot`.
    pub(super) fn read(reply: &RedisReply) -> Result<Self, Error> {
        let shape = reply.at(2)?;
        let (seats, legs) = (shape.at(1)?.count()?, shape.at(2)?.count()?);
        let grid = Grid {
            seats: u32::try_from(seats).map_err(|_| wrong("too many seats"))?,
            legs: u16::try_from(legs).map_err(|_| wrong("too many legs"))?,
        };
        let views = [3, 4, 5].map(|index| reply.at(index).and_then(RedisReply::bytes));
        let [held, sold, blocked] = views;
        let (held, sold, blocked) = (held?, sold?, blocked?);
        let state = |cell| {
            if packing::bit(sold, cell) {
                CellState::Sold
            } else if packing::bit(held, cell) {
                CellState::Held
            } else if packing::bit(blocked, cell) {
                CellState::Blocked
            } else {
                CellState::Free
            }
        };
        let life = shape.at(0)?.count()?;
        let (counter, sub) = position(reply.at(1)?)?;
        let states = (0..grid.cells()).map(state).collect();
        let mut known = Self {
            life,
            grid,
            picture: Picture::at(life, counter, states),
            edition: shape.at(4)?.count()?,
            plan_version: u32::try_from(shape.at(3)?.count()?).map_err(|_| wrong("a plan"))?,
            sub,
            holds: HashMap::new(),
            deadlines: BTreeSet::new(),
            short_calls: BTreeSet::new(),
        };
        for hold in reply.at(6)?.list()?.chunks(2) {
            if let [tail, kept] = hold {
                let short = packing::read_short(kept.bytes()?)?;
                known.keep(packing::read_tail(tail.bytes()?)?, KeptHold::of(&short));
            }
        }
        Ok(known)
    }

    /// The picture as it is.
    pub(super) fn view(&self) -> View {
        View {
            version: self.picture.version(),
            states: self.picture.states().to_vec(),
        }
    }

    /// Where the feed is read on: counter and the number below it.
    pub(super) fn position(&self) -> (u64, u64) {
        (self.picture.version() - (self.life << 40), self.sub)
    }

    /// Takes over one entry of the feed; gives the signal in it, where it is one for a socket.
    pub(super) fn follow(
        &mut self,
        show: &ShowId,
        entry: &RedisReply,
    ) -> Result<Result<Option<HoldSignal>, Gap>, Error> {
        let (counter, sub) = position(entry.at(0)?)?;
        let here = self.position();
        if (counter, sub) != (here.0, here.1 + 1) && (counter, sub) != (here.0 + 1, 0) {
            return Ok(Err(Gap));
        }
        // One field: its name, and the change.
        let change = packing::read_change(entry.at(1)?.at(1)?.bytes()?)?;
        if counter > here.0 {
            self.picture
                .follow(counter, packing::read_cells(change.cells));
        }
        self.sub = sub;
        let state = change.short.state;
        if state == "lapsed" || state == "gone" {
            self.forget(&change.tail);
        } else {
            self.keep(change.tail, KeptHold::of(&change.short));
        }
        let state = match state {
            "lapsed" => "lapsed",
            "short" => "short",
            "ordered" => "ordered",
            "offered" => "offered",
            _ => return Ok(Ok(None)),
        };
        Ok(Ok(Some(HoldSignal {
            visitor: change.visitor,
            hold: packing::hold_id(show, &change.tail)?,
            state,
            expires_at_ms: change.short.expires_at_ms,
        })))
    }

    /// Whether a sweep at this time would find something.
    pub(super) fn is_due(&self, now_ms: i64) -> bool {
        let first = |set: &BTreeSet<(i64, Tail)>| set.first().is_some_and(|(at, _)| *at <= now_ms);
        first(&self.deadlines) || first(&self.short_calls)
    }

    /// Whether anything will ever be due.
    pub(super) fn has_holds(&self) -> bool {
        !self.holds.is_empty()
    }

    pub(super) fn baskets(&self, until_ms: i64) -> Baskets {
        let mut baskets = Baskets {
            all: self
                .holds
                .values()
                .filter(|kept| kept.kind != KeptKind::Waitlist)
                .count() as u64,
            ..Baskets::default()
        };
        let due = self.deadlines.iter().take_while(|(at, _)| *at <= until_ms);
        for kept in due.filter_map(|(_, tail)| self.holds.get(tail)) {
            if kept.kind == KeptKind::Basket {
                baskets.lapsing += 1;
                baskets.lapsing_cells += kept.cells;
            }
        }
        baskets
    }

    /// The holds that are locked for orders.
    pub(super) fn ordered(&self, show: &ShowId) -> Vec<Secured> {
        let ordered = self
            .holds
            .iter()
            .filter(|(_, kept)| kept.kind == KeptKind::Order);
        let secured = |(tail, kept): (&Tail, &KeptHold)| {
            Some(Secured {
                hold: keys::hold(show, tail)?,
                expires_at_ms: kept.expires_at_ms,
                lock_until_ms: kept.lock_until_ms,
            })
        };
        ordered.filter_map(secured).collect()
    }

    /// The cells that this hold would not get, as far as this picture knows. A hold that is there
    /// already gets what it has, and what the picture cannot judge is for the script.
    pub(super) fn surely_taken(&self, hold: &Hold, tail: &Tail, limit: u32) -> Vec<u32> {
        let may = hold.items.len() <= limit as usize && hold.plan_version == self.plan_version;
        if !may || self.holds.contains_key(tail) {
            return Vec::new();
        }
        let cells = hold.cells(self.grid).into_iter();
        cells
            .filter(|cell| self.picture.state(*cell) != CellState::Free)
            .collect()
    }

    fn keep(&mut self, tail: Tail, kept: KeptHold) {
        self.forget(&tail);
        self.deadlines.insert((kept.lock_until_ms, tail));
        if let Some(at) = kept.short_at_ms {
            self.short_calls.insert((at, tail));
        }
        self.holds.insert(tail, kept);
    }

    fn forget(&mut self, tail: &Tail) {
        if let Some(kept) = self.holds.remove(tail) {
            self.deadlines.remove(&(kept.lock_until_ms, *tail));
            if let Some(at) = kept.short_at_ms {
                self.short_calls.remove(&(at, *tail));
            }
        }
    }
}

/// A point of the feed: the version's counter, and the number below it.
pub(super) fn position(reply: &RedisReply) -> Result<(u64, u64), Error> {
    let numbers = reply.text()?.split_once('-');
    numbers
        .and_then(|(counter, sub)| Some((counter.parse().ok()?, sub.parse().ok()?)))
        .ok_or_else(|| wrong("a number of the feed"))
}

fn wrong(what: &str) -> Error {
    Error::Wrong(format!("{what} in Redis is not what it must be"))
}
