//! Checks the seats as observers saw them. Versions never fall, and a snapshot soon follows any
//! gap. Every observer's last picture equals the final seats, and the final seats match the ledger.

use std::collections::{BTreeMap, HashMap};

use super::dump::DumpedShow;
use super::history::{HistoryFeedBody, HistoryFeedFrame};
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// How soon after a gap a snapshot must come or the socket must close, in milliseconds.
const HEALED_WITHIN_MS: f64 = 3_000.0;

const FREE: u8 = 0;
const HELD: u8 = 1;
const SOLD: u8 = 2;

/// What one observer saw of one show.
pub struct ObserverPicture<'a> {
    /// The id of the observer.
    pub observer: &'a str,
    /// The id of the show.
    pub show: &'a str,
    version: u64,
    cells: Vec<u8>,
    /// The changes of each cell while the observer watched: when, and to which state.
    changes: HashMap<u32, Vec<(f64, u8)>>,
    /// The states of the cells in the first snapshot.
    base: Vec<u8>,
    first_ms: f64,
    /// When the observer was last sent anything about the show.
    fed_ms: f64,
    /// When the observer was last sent anything at all.
    last_ms: f64,
    /// The spans before each new snapshot, in which the observer may have missed changes.
    blind: Vec<(f64, f64)>,
    broken: bool,
}

/// Checks the versions and the final seats. Returns what every observer saw of each show.
pub fn judge<'a>(timeline: &RunTimeline<'a>, findings: &mut Findings) -> Vec<ObserverPicture<'a>> {
    let mut pictures: BTreeMap<(&str, &str), ObserverPicture<'a>> = BTreeMap::new();
    let mut gaps: BTreeMap<(&str, &str), &HistoryFeedFrame> = BTreeMap::new();
    for feed in &timeline.history.feed {
        let key = (feed.observer.as_str(), &*feed.show);
        match (&feed.body, pictures.get_mut(&key)) {
            (
                HistoryFeedBody::Snapshot {
                    version,
                    cells,
                    packed,
                },
                existing,
            ) => {
                if let Some(gap) = gaps
                    .remove(&key)
                    .filter(|gap| !healed(timeline, gap, feed.at_ms))
                {
                    report_unhealed_gap(gap, findings);
                }
                let cells = unpacked(packed, *cells as usize);
                match existing {
                    Some(picture) => {
                        picture.apply_snapshot(timeline, feed, (*version, cells), findings)
                    }
                    None => {
                        pictures.insert(key, ObserverPicture::new(feed, *version, cells));
                    }
                }
            }
            (HistoryFeedBody::Delta { .. }, None) => {
                gaps.entry(key).or_insert(feed);
            }
            (HistoryFeedBody::Delta { from, to, cells }, Some(picture)) => {
                // Deltas after a gap are skipped until a snapshot. A gap gives one finding at most.
                if !gaps.contains_key(&key)
                    && !picture.apply_delta(feed, (*from, *to), cells, findings)
                {
                    gaps.insert(key, feed);
                }
            }
        }
    }
    for ((observer, show), feed) in gaps {
        if !healed(timeline, feed, f64::INFINITY) {
            report_unhealed_gap(feed, findings);
        }
        if let Some(picture) = pictures.get_mut(&(observer, show)) {
            picture.broken = true;
        }
    }
    let mut pictures: Vec<_> = pictures.into_values().collect();
    for frame in &timeline.history.frames {
        for picture in pictures
            .iter_mut()
            .filter(|picture| picture.observer == frame.owner)
        {
            picture.last_ms = picture.last_ms.max(frame.at_ms);
        }
    }
    check_final_pictures(timeline, &pictures, findings);
    pictures
}

/// Returns whether a gap ended in time, by a snapshot at `snapshot_ms` or because the socket
/// closed.
fn healed(timeline: &RunTimeline<'_>, gap: &HistoryFeedFrame, snapshot_ms: f64) -> bool {
    let in_time = gap.at_ms..=gap.at_ms + HEALED_WITHIN_MS;
    let closed = |(owner, at): &(String, f64)| *owner == gap.observer && in_time.contains(at);
    in_time.contains(&snapshot_ms) || timeline.history.closes.iter().any(closed)
}

fn report_unhealed_gap(gap: &HistoryFeedFrame, findings: &mut Findings) {
    findings.add(Invariant::Feed, || {
        format!(
            "line {}: {} was sent a delta of {} that does not follow, and no snapshot after it",
            gap.line, gap.observer, gap.show
        )
    });
}

fn unpacked(packed: &[u8], cells: usize) -> Vec<u8> {
    let four = |byte: &u8| [byte & 3, byte >> 2 & 3, byte >> 4 & 3, byte >> 6 & 3];
    packed.iter().flat_map(four).take(cells).collect()
}

impl<'a> ObserverPicture<'a> {
    fn new(feed: &'a HistoryFeedFrame, version: u64, cells: Vec<u8>) -> Self {
        Self {
            observer: &feed.observer,
            show: &feed.show,
            version,
            base: cells.clone(),
            cells,
            changes: HashMap::new(),
            first_ms: feed.at_ms,
            fed_ms: feed.at_ms,
            last_ms: feed.at_ms,
            blind: Vec::new(),
            broken: false,
        }
    }

    fn apply_snapshot(
        &mut self,
        timeline: &RunTimeline<'_>,
        feed: &HistoryFeedFrame,
        (version, cells): (u64, Vec<u8>),
        findings: &mut Findings,
    ) {
        // While the store is lost, every node shows its own last picture. If the observer has
        // connected to another node, that node's picture may be older.
        let since = self.fed_ms..=feed.at_ms;
        let moved = |(owner, at): &(String, f64)| owner == self.observer && since.contains(at);
        let other_node = timeline.history.closes.iter().any(moved)
            && timeline.history.forgot_within(feed.at_ms, feed.at_ms);
        if version < self.version && !other_node {
            findings.add(Invariant::Feed, || {
                format!(
                    "line {}: {} was sent version {version} of {} after {}",
                    feed.line, self.observer, self.show, self.version
                )
            });
        }
        self.blind.push((self.last_ms, feed.at_ms));
        for (index, state) in (0..).zip(&cells) {
            if self.cells.get(index as usize) != Some(state) {
                self.changes
                    .entry(index)
                    .or_default()
                    .push((feed.at_ms, *state));
            }
        }
        (self.version, self.cells) = (version, cells);
        (self.fed_ms, self.last_ms) = (feed.at_ms, feed.at_ms);
    }

    /// Applies a delta. Returns false if the delta does not follow the last version.
    fn apply_delta(
        &mut self,
        feed: &HistoryFeedFrame,
        (from, to): (u64, u64),
        cells: &[(u32, u8)],
        findings: &mut Findings,
    ) -> bool {
        if to < from {
            findings.add(Invariant::Feed, || {
                format!(
                    "line {}: a delta of {} from version {from} back to {to}",
                    feed.line, self.show
                )
            });
            return true;
        }
        if from != self.version {
            return false;
        }
        for &(index, state) in cells {
            let known = self.cells.get_mut(index as usize).filter(|_| state <= 3);
            let Some(cell) = known else {
                findings.add(Invariant::Feed, || {
                    format!(
                        "line {}: cell {index} of {} in state {state}, which it cannot have",
                        feed.line, self.show
                    )
                });
                continue;
            };
            *cell = state;
            self.changes
                .entry(index)
                .or_default()
                .push((feed.at_ms, state));
        }
        self.version = to;
        (self.fed_ms, self.last_ms) = (feed.at_ms, feed.at_ms);
        true
    }

    /// Returns whether the observer saw every change in a span of time.
    pub fn saw_all_between(&self, from_ms: f64, to_ms: f64) -> bool {
        let blind = self
            .blind
            .iter()
            .any(|(from, to)| *from <= to_ms && from_ms <= *to);
        !self.broken && !blind && self.first_ms <= from_ms && to_ms <= self.last_ms
    }

    /// Returns the state in which the observer saw a cell at a moment.
    pub fn state_at(&self, cell: u32, at_ms: f64) -> Option<u8> {
        let changes = self.changes.get(&cell).map_or(&[][..], Vec::as_slice);
        let changes_before = changes.partition_point(|(at, _)| *at <= at_ms);
        match changes_before.checked_sub(1) {
            Some(last) => Some(changes[last].1),
            None => self.base.get(cell as usize).copied(),
        }
    }

    /// Returns when, within a span of time, a cell first changed to a state for which `is_wanted`
    /// is true.
    pub fn came_to(
        &self,
        cell: u32,
        is_wanted: impl Fn(u8) -> bool,
        from_ms: f64,
        to_ms: f64,
    ) -> Option<f64> {
        let changes = self.changes.get(&cell)?;
        let found = changes
            .iter()
            .find(|(at, state)| *at > from_ms && *at <= to_ms && is_wanted(*state));
        found.map(|(at, _)| *at)
    }
}

/// Returns whether the state is that of a held cell.
pub fn is_held(state: u8) -> bool {
    state == HELD
}

/// Returns whether the state is that of a cell that anybody may take.
pub fn is_free(state: u8) -> bool {
    state == FREE
}

fn check_final_pictures(
    timeline: &RunTimeline<'_>,
    pictures: &[ObserverPicture<'_>],
    findings: &mut Findings,
) {
    for (show, final_seats) in &timeline.history.finals {
        let Some(dumped_show) = timeline.dump.shows.get(show) else {
            findings.add(Invariant::Feed, || {
                format!("line {}: {show} is no show of the ledger", final_seats.line)
            });
            continue;
        };
        let cells = unpacked(&final_seats.packed, final_seats.packed.len() * 4);
        for picture in pictures
            .iter()
            .filter(|picture| picture.show == show && !picture.broken)
        {
            let closes = &timeline.history.closes[..timeline.history.closes_before_finals];
            let has_left = closes
                .iter()
                .any(|(owner, at)| owner == picture.observer && *at >= picture.fed_ms);
            // An observer that left before the end is checked only if it saw the final version.
            if has_left && picture.version != final_seats.version {
                continue;
            }
            let differs = (0..)
                .zip(&picture.cells)
                .find(|(index, state)| cells.get(*index) != Some(state));
            if let Some((index, state)) = differs {
                findings.add(Invariant::Feed, || format!(
                    "line {}: {} ends with cell {index} of {show} as {state} at version {}, the seats say {:?} at version {}",
                    final_seats.line, picture.observer, picture.version, cells.get(index), final_seats.version
                ));
            }
        }
        against_ledger(timeline, show, dumped_show, &cells, findings);
    }
    let watched: Vec<&str> = pictures.iter().map(|picture| picture.show).collect();
    for show in watched
        .into_iter()
        .filter(|show| !timeline.history.finals.contains_key(*show))
    {
        if timeline.history.finished_ms.is_some() {
            findings.add(Invariant::Feed, || {
                format!("{show} was watched, and nobody read its seats in the end")
            });
        }
    }
}

fn against_ledger(
    timeline: &RunTimeline<'_>,
    show: &str,
    dumped_show: &DumpedShow,
    cells: &[u8],
    findings: &mut Findings,
) {
    let mut expected: HashMap<u32, u8> = HashMap::new();
    for claim in timeline
        .dump
        .claims
        .iter()
        .filter(|claim| claim.show == show)
    {
        let sold = timeline
            .dump
            .order(&claim.order)
            .is_some_and(|order| order.sold());
        expected.insert(claim.cell, if sold { SOLD } else { HELD });
    }
    for (index, state) in (0..).zip(cells) {
        let is_right = match (state, expected.get(&index)) {
            (&FREE | 3, None) => true,
            (&HELD, None) => hold_may_have_cell(timeline, show, index),
            (state, Some(expected)) => state == expected,
            _ => false,
        };
        if !is_right {
            findings.add(Invariant::Feed, || {
                let claim = expected.get(&index);
                format!("cell {index} ({}) of {show} ends as {state}, and the ledger's claims say {claim:?}", dumped_show.label(index))
            });
        }
    }
}

/// Returns whether a cell may belong to a hold that has not run out at the end of the run.
fn hold_may_have_cell(timeline: &RunTimeline<'_>, show: &str, cell: u32) -> bool {
    let end = timeline
        .history
        .settled_ms
        .or(timeline.history.finished_ms)
        .unwrap_or(0.0);
    let grace_ms = timeline
        .dump
        .shows
        .get(show)
        .map_or(0.0, |show| show.grace_s * 1_000.0 + 2_000.0);
    timeline.holds.values().any(|hold| {
        let has_cell = |seats: &Vec<&str>| {
            let mut cells = seats
                .iter()
                .flat_map(|seat| timeline.cells(hold.hold_call, seat));
            cells.any(|its_cell| its_cell == cell)
        };
        *hold.hold_call.show == *show
            && !hold.dropped
            && hold.hold_call.expires_ms + grace_ms > end
            && hold.seats.as_ref().is_none_or(has_cell)
    })
}
