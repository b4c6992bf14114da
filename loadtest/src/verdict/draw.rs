//! Checks the line: each number is given once, ranks are those of the published draw, and nobody's
//! number or rank ever changes.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde_json::Value;

use super::history::{HistoryFrameBody, HistoryOperation};
use super::oracle::{self, Bytes32, VOID};
use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// A place counts as given before the freeze if its visitor had the answer this long before
/// `frozen_at`, in milliseconds. The clocks of the swarm and of the server may differ a little.
const BEFORE_FREEZE_MS: f64 = 1_000.0;

/// A draw as it was published.
pub struct ObservedDraw<'a> {
    /// The answer of `GET …/draw`.
    pub record: &'a Value,
    /// All holders, 32 bytes each, if they were fetched.
    pub leaves: Option<&'a [u8]>,
}

/// The number and rank that a visitor was told.
struct ReportedPlace {
    line: u32,
    visitor: u64,
    number: Option<u64>,
    rank: Option<u64>,
}

/// Checks numbers, ranks and, if a draw was published, the draw.
pub fn judge(
    timeline: &RunTimeline<'_>,
    published: Option<&ObservedDraw<'_>>,
    findings: &mut Findings,
) {
    let places = reported_places(timeline);
    let left_visitors: HashSet<u64> = (timeline.history.calls.iter())
        .filter(|call| matches!(call.op, HistoryOperation::Leave) && call.may_be_done())
        .map(|call| call.visitor)
        .collect();
    numbers(&places, &left_visitors, findings);
    let by_draw = timeline
        .history
        .run
        .as_ref()
        .is_none_or(|run| run.method() == "draw");
    let ranks = match (by_draw, published) {
        (true, Some(published)) => check(published, findings),
        (true, None) => None,
        (false, _) => Some(Vec::new()),
    };
    if ranks.is_none() && places.iter().any(|place| place.rank.is_some()) {
        findings.add(Invariant::Draw, || {
            "visitors got ranks, and no readable draw was published".to_owned()
        });
    }
    check_ranks(&places, &left_visitors, ranks.as_deref(), findings);
    if let Some(leaves) = published.and_then(|published| published.leaves) {
        check_leaves(timeline, &places, &left_visitors, leaves, findings);
    }
    if let Some(published) = published.filter(|_| by_draw) {
        check_nobody_is_left_out(timeline, published.record, findings);
    }
}

fn reported_places(timeline: &RunTimeline<'_>) -> Vec<ReportedPlace> {
    let calls = timeline
        .history
        .calls
        .iter()
        .filter(|call| call.done())
        .filter_map(|call| {
            let (number, rank) = match call.op {
                HistoryOperation::Join { number, .. } => (number, None),
                HistoryOperation::Place { number, rank, .. } => (number, rank),
                HistoryOperation::Claim { rank, .. } => (None, rank),
                _ => return None,
            };
            Some(ReportedPlace {
                line: call.line,
                visitor: call.visitor,
                number,
                rank,
            })
        });
    let frames =
        timeline
            .history
            .frames
            .iter()
            .filter_map(|frame| match (&frame.body, frame.visitor) {
                (HistoryFrameBody::Place { number, rank, .. }, Some(visitor)) => {
                    Some(ReportedPlace {
                        line: frame.line,
                        visitor,
                        number: *number,
                        rank: *rank,
                    })
                }
                _ => None,
            });
    let mut places: Vec<ReportedPlace> = calls.chain(frames).collect();
    places.sort_by_key(|place| place.line);
    places
}

fn numbers(places: &[ReportedPlace], left_visitors: &HashSet<u64>, findings: &mut Findings) {
    let mut number_of: HashMap<u64, u64> = HashMap::new();
    let mut holders: HashMap<u64, u64> = HashMap::new();
    for place in places {
        let Some(number) = place.number else { continue };
        let first_number = *number_of.entry(place.visitor).or_insert(number);
        if first_number != number && !left_visitors.contains(&place.visitor) {
            findings.add(Invariant::Draw, || {
                format!(
                    "line {}: visitor {} had number {first_number} and now has {number}",
                    place.line, place.visitor
                )
            });
        }
        let holder = *holders.entry(number).or_insert(place.visitor);
        if holder != place.visitor {
            findings.add(Invariant::Draw, || {
                format!(
                    "line {}: number {number} is visitor {holder}'s and visitor {}'s",
                    place.line, place.visitor
                )
            });
        }
    }
}

/// Checks the record of a draw. Returns the rank of each number, or `None` if the record cannot be
/// read.
fn check(published: &ObservedDraw<'_>, findings: &mut Findings) -> Option<Vec<u64>> {
    let record = published.record;
    let mut wrong =
        |what: &str| findings.add(Invariant::Draw, || format!("the published draw: {what}"));
    let bytes = |field: &str| -> Option<Bytes32> {
        hex::decode(record[field].as_str()?).ok()?.try_into().ok()
    };
    let (Some(commitment), Some(secret), Some(root), Some(seed), Some(n)) = (
        bytes("commitment"),
        bytes("secret"),
        bytes("root"),
        bytes("seed"),
        record["n"].as_u64(),
    ) else {
        wrong("commitment, secret, root, seed or n is missing or unreadable");
        return None;
    };
    let Ok(beacon) = hex::decode(record["beacon"].as_str().unwrap_or("")) else {
        wrong("the beacon is no hex");
        return None;
    };
    if oracle::commitment(&secret) != commitment {
        wrong("the secret is not the one that was announced");
    }
    // The leaves are counted. The server's own count is used only if the leaves were not fetched.
    let holders = published.leaves.map(holders);
    let counted = holders.as_ref().map_or(n, |holders| holders.len() as u64);
    if counted != n {
        wrong(&format!("{counted} leaves, and n is {n}"));
    }
    let follows = oracle::seed(&secret, counted, &root, &beacon);
    if follows != seed {
        wrong("the seed does not follow from secret, n, root and beacon");
    }
    if let Some(holders) = holders {
        if oracle::root(&holders) != root {
            wrong("the root does not follow from the leaves");
        }
        let voids = holders.iter().filter(|holder| **holder == VOID).count();
        if record["voids"].as_u64() != Some(voids as u64) {
            wrong(&format!(
                "{voids} leaves are void, the record says {}",
                record["voids"]
            ));
        }
        let holder_set: HashSet<&Bytes32> =
            holders.iter().filter(|holder| **holder != VOID).collect();
        if holder_set.len() + voids != holders.len() {
            wrong("a holder has two numbers");
        }
    }
    let line = oracle::line(&follows, counted);
    let mut ranks = vec![0; line.len()];
    for (rank, number) in (0..).zip(&line) {
        ranks[usize::try_from(*number).expect("below a length")] = rank;
    }
    Some(ranks)
}

/// Checks that the draw contains every number that a visitor got before the freeze. Without this
/// check, a server could leave visitors out of the draw, so that they keep their numbers as ranks.
/// A fault may have moved a clock or lost a place, so numbers from before a fault are not checked.
fn check_nobody_is_left_out(timeline: &RunTimeline<'_>, record: &Value, findings: &mut Findings) {
    let frozen: Option<Timestamp> = record["frozen_at"].as_str().and_then(|at| at.parse().ok());
    let (Some(frozen), Some(n)) = (frozen, record["n"].as_u64()) else {
        return findings.add(Invariant::Draw, || {
            "the published draw: n or frozen_at is missing or unreadable".to_owned()
        });
    };
    let frozen_ms = frozen.as_millisecond() as f64;
    for call in timeline.history.calls.iter().filter(|call| call.done()) {
        let HistoryOperation::Join {
            number: Some(number),
            ..
        } = call.op
        else {
            continue;
        };
        let is_early = call.done_ms + BEFORE_FREEZE_MS < frozen_ms;
        if is_early && number >= n && !timeline.history.disturbed_within(call.done_ms, frozen_ms) {
            findings.add(Invariant::Draw, || {
                format!(
                    "line {}: visitor {} got number {number} before the freeze, and only the numbers below {n} were drawn",
                    call.line, call.visitor
                )
            });
        }
    }
}

fn holders(leaves: &[u8]) -> Vec<Bytes32> {
    leaves
        .chunks_exact(32)
        .map(|leaf| leaf.try_into().expect("chunks of 32"))
        .collect()
}

fn check_ranks(
    places: &[ReportedPlace],
    left_visitors: &HashSet<u64>,
    ranks: Option<&[u64]>,
    findings: &mut Findings,
) {
    let mut number_of: HashMap<u64, u64> = HashMap::new();
    let mut by_number: HashMap<u64, u64> = HashMap::new();
    let mut by_rank: HashMap<u64, u64> = HashMap::new();
    for place in places {
        if let Some(number) = place.number {
            number_of.insert(place.visitor, number);
        }
        let Some(rank) = place.rank else { continue };
        // The record of a claim has a rank but no number, so the visitor's last number is used. A
        // visitor who left may have had two numbers, so its claims are not checked.
        let number = place.number.or_else(|| {
            number_of
                .get(&place.visitor)
                .copied()
                .filter(|_| !left_visitors.contains(&place.visitor))
        });
        let Some(number) = number else { continue };
        let mut wrong = |what: String| {
            findings.add(Invariant::Draw, || {
                format!(
                    "line {}: visitor {}: number {number} {what}",
                    place.line, place.visitor
                )
            });
        };
        let first_rank = *by_number.entry(number).or_insert(rank);
        let at_rank = *by_rank.entry(rank).or_insert(number);
        let position = usize::try_from(number).unwrap_or(usize::MAX);
        let expected = ranks.map(|ranks| ranks.get(position).copied().unwrap_or(number));
        if first_rank != rank {
            wrong(format!("had rank {first_rank} and now has {rank}"));
        } else if at_rank != number {
            wrong(format!("has rank {rank}, and so has number {at_rank}"));
        } else if let Some(expected) = expected.filter(|expected| *expected != rank) {
            wrong(format!("has rank {rank}, the draw gives {expected}"));
        }
    }
}

/// Checks that the leaf of each visitor's number is neither void nor another holder's.
fn check_leaves(
    timeline: &RunTimeline<'_>,
    places: &[ReportedPlace],
    left_visitors: &HashSet<u64>,
    leaves: &[u8],
    findings: &mut Findings,
) {
    let holders = holders(leaves);
    let leaf = |number: u64| holders.get(usize::try_from(number).ok()?);
    let mut seen = HashSet::new();
    for place in places {
        let Some(number) = place
            .number
            .filter(|number| !left_visitors.contains(&place.visitor) && seen.insert(*number))
        else {
            continue;
        };
        if leaf(number) == Some(&VOID) {
            findings.add(Invariant::Draw, || {
                format!(
                    "line {}: number {number} of visitor {} is void in the draw",
                    place.line, place.visitor
                )
            });
        }
    }
    for call in timeline.history.calls.iter().filter(|call| call.done()) {
        let HistoryOperation::Join {
            number: Some(number),
            holder: Some(holder),
        } = &call.op
        else {
            continue;
        };
        let Some(leaf) = leaf(*number) else { continue };
        if *leaf != VOID && hex::encode(leaf) != **holder {
            findings.add(Invariant::Draw, || {
                format!(
                    "line {}: number {number} belongs to {holder}, its leaf is {}",
                    call.line,
                    hex::encode(leaf)
                )
            });
        }
    }
}
