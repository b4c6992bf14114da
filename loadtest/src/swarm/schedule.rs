//! Plans the faults of a run from a seed before anything starts, so that the same faults can be
//! inflicted again after a failed run.

use std::fmt;

use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::rig::{KillTarget, RedisForm, RigComponent, RigPaymentProvider, RigSpecification};

/// The earliest start of a fault, in seconds after the start of the run. By then visitors are
/// active.
const FROM_S: f64 = 2.5;
/// The latest start of a fault, in seconds after the start of the run.
const UNTIL_S: f64 = 7.5;
/// The shortest and the longest fault, in seconds.
const LASTS_S: (f64, f64) = (0.3, 3.0);
/// The smallest and the largest number of faults that are drawn for a run.
const STRIKES: (usize, usize) = (2, 3);
/// The time that a part takes to recover after a fault, in seconds. The part may have to restart
/// and to read its log.
const STANDS_AGAIN_S: f64 = 2.0;
/// The largest number of draws for one fault. A fault is drawn again if it would hit a part that
/// another fault still affects. If every draw would hit such a part, the fault is left out.
const TRIES: usize = 50;
/// The number of rigs that seeds rotate through. Two seeds that differ by this number have the same
/// rig.
pub const RIGS: u64 = 10;

/// The forms of Redis that seeds rotate through without `--rig`.
const FORMS: [RedisForm; 4] = [
    RedisForm::Single,
    RedisForm::Replica,
    RedisForm::Sentinel,
    RedisForm::Cluster,
];

/// One planned fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScheduledFault {
    /// When the fault begins, in seconds after the start of the run.
    pub at_s: f64,
    /// How long the fault lasts, in seconds.
    pub for_s: f64,
    /// What the fault does.
    pub what: FaultAction,
}

/// What a fault does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// `kill -9`, and a restart at the end.
    Kill(RigComponent),
    /// `SIGSTOP`, and `SIGCONT` at the end.
    Pause(RigComponent),
    /// PostgreSQL closes all connections, ends, and starts again.
    RestartLedger,
    /// Every Redis is emptied.
    Flush,
    /// The replica misses all writes during the fault, and then becomes the primary.
    PromoteStale,
    /// Redis' clocks are wrong by this many seconds, and correct again at the end.
    Clock(i64),
    /// The clock of one gateway is wrong by this many seconds, and correct again at the end.
    NodeClock(RigComponent, i64),
    /// Connections to PostgreSQL are cut at their COMMIT. Some are cut before the server reads the
    /// COMMIT, and some after it has committed.
    CutCommits,
    /// The disk of the ledger file is full, and has free space again at the end.
    FullDisk,
    /// The payment provider misbehaves, and works normally again at the end.
    Provider(ProviderFaultMode),
}

/// What is wrong with the payment provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderFaultMode {
    /// The provider delays, repeats, reorders and drops events. It answers some calls with 500
    /// although it carried them out, and does not answer others at all.
    Misbehaves,
    /// The provider refuses every call and sends no event.
    Away,
    /// The provider refuses many payments because of their amount.
    RefusesSums,
}

/// How far Redis' clocks jump ahead, in seconds. This is longer than any hold lasts.
const AHEAD_S: i64 = 20 * 60;
/// How far Redis' clocks jump back, as a negative number of seconds.
const BEHIND_S: i64 = -60 * 60;
/// How far one gateway's clock is wrong, in seconds. It is an hour ahead or an hour behind.
const NODE_OFF_S: [i64; 2] = [60 * 60, -60 * 60];

/// The name of every kind of fault, as the counts use it.
pub const KINDS: [&str; 22] = [
    "kill gateway",
    "kill booking",
    "kill redis",
    "kill sentinel",
    "kill ledger",
    "stop gateway",
    "stop booking",
    "stop redis",
    "stop sentinel",
    "stop ledger",
    "restart ledger",
    "flush redis",
    "promote a stale replica",
    "redis' clock +20 min",
    "redis' clock -60 min",
    "gateway's clock +60 min",
    "gateway's clock -60 min",
    "commits cut",
    "disk full",
    "provider refuses sums",
    "provider misbehaves",
    "provider away",
];

impl FaultAction {
    /// Returns the kind under which the fault is counted.
    pub fn kind(self, spec: RigSpecification) -> String {
        let name = |part: RigComponent| match part {
            RigComponent::Gateway(_) => "gateway",
            RigComponent::Booking(_) => "booking",
            RigComponent::Redis(index) if index >= spec.data_nodes() => "sentinel",
            RigComponent::Redis(_) => "redis",
            RigComponent::Ledger => "ledger",
        };
        match self {
            Self::Kill(part) => format!("kill {}", name(part)),
            Self::Pause(part) => format!("stop {}", name(part)),
            Self::NodeClock(part, seconds) => {
                format!("{}'s clock {:+} min", name(part), seconds / 60)
            }
            other => other.to_string(),
        }
    }

    /// Returns whether the fault may make the system forget baskets.
    pub fn forgets(self, spec: RigSpecification) -> bool {
        let is_data = |part: RigComponent| matches!(part, RigComponent::Redis(index) if index < spec.data_nodes());
        match self {
            Self::Kill(part) => match part {
                RigComponent::Gateway(_) | RigComponent::Booking(_) => {
                    spec.redis == RedisForm::None
                }
                part => is_data(part),
            },
            // A stopped primary is replaced by a replica that may have missed its last writes.
            Self::Pause(part) => spec.redis == RedisForm::Sentinel && is_data(part),
            Self::RestartLedger
            | Self::Provider(_)
            | Self::NodeClock(..)
            | Self::CutCommits
            | Self::FullDisk => false,
            Self::Flush | Self::PromoteStale | Self::Clock(_) => true,
        }
    }

    /// Returns the part that no other fault may hit at the same time. All of Redis counts as one
    /// part, because its nodes are one system. `None` stands for the provider, which is not a
    /// process of the rig.
    fn subject(self) -> Option<RigComponent> {
        match self {
            Self::Kill(RigComponent::Redis(_)) | Self::Pause(RigComponent::Redis(_)) => {
                Some(RigComponent::Redis(0))
            }
            Self::Kill(part) | Self::Pause(part) | Self::NodeClock(part, _) => Some(part),
            Self::RestartLedger | Self::CutCommits => Some(RigComponent::Ledger),
            // Only a rig with a single gateway has this fault. The disk belongs to that gateway.
            Self::FullDisk => Some(RigComponent::Gateway(0)),
            Self::Flush | Self::PromoteStale | Self::Clock(_) => Some(RigComponent::Redis(0)),
            Self::Provider(_) => None,
        }
    }
}

impl fmt::Display for FaultAction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill(part) => write!(out, "kill {part}"),
            Self::Pause(part) => write!(out, "stop {part}"),
            Self::RestartLedger => out.write_str("restart ledger"),
            Self::Flush => out.write_str("flush redis"),
            Self::PromoteStale => out.write_str("promote a stale replica"),
            Self::Clock(seconds) => write!(out, "redis' clock {:+} min", seconds / 60),
            Self::NodeClock(part, seconds) => write!(out, "{part}'s clock {:+} min", seconds / 60),
            Self::CutCommits => out.write_str("commits cut"),
            Self::FullDisk => out.write_str("disk full"),
            Self::Provider(ProviderFaultMode::RefusesSums) => {
                out.write_str("provider refuses sums")
            }
            Self::Provider(ProviderFaultMode::Misbehaves) => out.write_str("provider misbehaves"),
            Self::Provider(ProviderFaultMode::Away) => out.write_str("provider away"),
        }
    }
}

impl fmt::Display for ScheduledFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at {:.1} s", self.what, self.at_s)?;
        if self.for_s > 0.0 {
            write!(out, " for {:.1} s", self.for_s)?;
        }
        Ok(())
    }
}

impl ScheduledFault {
    fn conflicts_with(&self, other: &Self) -> bool {
        let until_s = |strike: &Self| strike.at_s + strike.for_s + STANDS_AGAIN_S;
        let together = self.at_s <= until_s(other) && other.at_s <= until_s(self);
        together && self.what.subject() == other.what.subject()
    }
}

/// Returns the rig of a seed, for runs whose command line names no rig.
pub fn spec_of_seed(seed: u64) -> RigSpecification {
    let turn = usize::try_from(seed % RIGS).unwrap_or_default();
    // Each form of Redis has two rigs, one for each payment provider. The last two rigs have
    // everything in one process, and a ledger file.
    if let Some(payments) = turn.checked_sub(2 * FORMS.len()) {
        return RigSpecification {
            payments: [RigPaymentProvider::Sandbox, RigPaymentProvider::Stripe][payments % 2],
            ..RigSpecification::default()
        };
    }
    RigSpecification {
        gateways: 2,
        bookings: 2,
        redis: FORMS[turn % FORMS.len()],
        ledger: crate::rig::RigLedgerKind::Postgres,
        payments: if turn < FORMS.len() {
            RigPaymentProvider::Sandbox
        } else {
            RigPaymentProvider::Stripe
        },
        cpus: None,
    }
}

/// Returns the faults of a seed, ordered by time. By chance alone, some kinds would not come up in
/// hundreds of seeds. Kinds therefore take turns, and one of the faults is of the kind whose turn
/// it is.
pub fn draw(seed: u64, spec: RigSpecification) -> Vec<ScheduledFault> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let possible = possible(spec);
    let turn = in_turn(seed, &possible);
    let mut strikes: Vec<ScheduledFault> = Vec::new();
    for _ in 0..rng.random_range(STRIKES.0..=STRIKES.1) {
        // The kind is drawn first and the part second, so that a kind with many parts does not come
        // up more often.
        let drawn = (0..TRIES).find_map(|_| {
            let kind = match strikes.is_empty() {
                true => turn,
                false => possible.choose(&mut rng),
            };
            let what = kind?.choose(&mut rng)?;
            let strike = at_some_time(*what, &mut rng);
            let fits = strikes.iter().all(|other| !strike.conflicts_with(other));
            fits.then_some(strike)
        });
        strikes.extend(drawn);
    }
    strikes.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    strikes
}

/// Returns the kind whose turn it is with this seed. A round has [`RIGS`] seeds. If this rig has
/// kinds that only few rigs have, only those take turns in even rounds. Otherwise all kinds of this
/// rig take turns.
fn in_turn(seed: u64, possible: &[Vec<FaultAction>]) -> Option<&Vec<FaultAction>> {
    let round = usize::try_from(seed / RIGS).unwrap_or_default();
    let rare: Vec<_> = possible.iter().filter(|kind| is_rare(kind)).collect();
    let every_kind: Vec<_> = possible.iter().collect();
    let turns = if round.is_multiple_of(2) && !rare.is_empty() {
        rare
    } else {
        every_kind
    };
    turns.get(round / 2 % turns.len().max(1)).copied()
}

/// Returns whether only few rigs have this kind of fault.
fn is_rare(kind: &[FaultAction]) -> bool {
    // The sentinels come after the two nodes that keep data.
    let is_sentinel = |part: RigComponent| matches!(part, RigComponent::Redis(2..));
    kind.first().is_some_and(|what| match *what {
        FaultAction::PromoteStale | FaultAction::Provider(_) | FaultAction::FullDisk => true,
        FaultAction::Kill(part) | FaultAction::Pause(part) => is_sentinel(part),
        _ => false,
    })
}

fn at_some_time(what: FaultAction, rng: &mut impl Rng) -> ScheduledFault {
    let for_s = match what {
        FaultAction::Flush | FaultAction::RestartLedger => 0.0,
        _ => rng.random_range(LASTS_S.0..LASTS_S.1),
    };
    ScheduledFault {
        at_s: rng.random_range(FROM_S..UNTIL_S),
        for_s,
        what,
    }
}

/// Returns the faults that can happen to a rig, by kind.
fn possible(spec: RigSpecification) -> Vec<Vec<FaultAction>> {
    let gateways: Vec<RigComponent> = (0..spec.gateways).map(RigComponent::Gateway).collect();
    let bookings: Vec<RigComponent> = (0..spec.bookings).map(RigComponent::Booking).collect();
    let data: Vec<RigComponent> = (0..spec.data_nodes()).map(RigComponent::Redis).collect();
    let sentinels = (spec.data_nodes()..spec.redis_nodes()).map(RigComponent::Redis);
    let mut ledger = Vec::new();
    let mut kinds = Vec::new();
    if KillTarget::Ledger.why_missing(&spec).is_none() {
        ledger.push(RigComponent::Ledger);
        kinds.push(vec![FaultAction::RestartLedger]);
        kinds.push(vec![FaultAction::CutCommits]);
    } else {
        kinds.push(vec![FaultAction::FullDisk]);
    }
    let clock = |seconds| -> Vec<FaultAction> {
        let gateways = gateways.iter();
        gateways
            .map(|part| FaultAction::NodeClock(*part, seconds))
            .collect()
    };
    // If there is only one gateway, its clock dates everything in the ledger. No fault changes that
    // clock.
    if spec.gateways > 1 {
        kinds.extend(NODE_OFF_S.map(clock));
    }
    for parts in [gateways, bookings, data, sentinels.collect(), ledger] {
        kinds.push(parts.iter().copied().map(FaultAction::Kill).collect());
        kinds.push(parts.iter().copied().map(FaultAction::Pause).collect());
    }
    if spec.redis != RedisForm::None {
        kinds.push(vec![FaultAction::Flush]);
        kinds.extend([AHEAD_S, BEHIND_S].map(|seconds| vec![FaultAction::Clock(seconds)]));
    }
    if spec.payments == RigPaymentProvider::Stripe {
        let moods = [
            ProviderFaultMode::Misbehaves,
            ProviderFaultMode::Away,
            ProviderFaultMode::RefusesSums,
        ];
        kinds.extend(moods.map(|mood| vec![FaultAction::Provider(mood)]));
    }
    if matches!(spec.redis, RedisForm::Replica | RedisForm::Sentinel) {
        kinds.push(vec![FaultAction::PromoteStale]);
    }
    kinds.retain(|kind| !kind.is_empty());
    kinds
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn spec(redis: &str) -> RigSpecification {
        let text = format!("gateways=2,bookings=2,redis={redis},ledger=postgres,payments=stripe");
        text.parse().expect("a valid rig")
    }

    #[test]
    fn a_seed_gives_the_same_faults_again_and_another_seed_gives_other_faults() {
        let spec = spec("sentinel");
        assert_eq!(draw(7, spec), draw(7, spec));
        assert_ne!(draw(7, spec), draw(8, spec));
    }

    #[test]
    fn every_kind_of_fault_is_drawn_often_in_two_hundred_seeds_and_only_for_rigs_that_have_it() {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for seed in 1..=200 {
            let spec = spec_of_seed(seed);
            for strike in draw(seed, spec) {
                *seen.entry(strike.what.kind(spec)).or_default() += 1;
            }
        }
        let kinds: Vec<&str> = seen.keys().map(String::as_str).collect();
        let mut all = KINDS;
        all.sort_unstable();
        assert_eq!(kinds, all);
        assert!(seen.values().all(|count| *count >= 6), "{seen:?}");
        for strike in (0..100).flat_map(|seed| draw(seed, RigSpecification::default())) {
            let gateway = RigComponent::Gateway(0);
            let whole = [
                FaultAction::Kill(gateway),
                FaultAction::Pause(gateway),
                FaultAction::FullDisk,
            ];
            assert!(whole.contains(&strike.what));
        }
    }

    #[test]
    fn faults_begin_within_the_allowed_time_and_two_never_hit_one_part_at_once() {
        for seed in 0..500 {
            let strikes = draw(seed, spec("sentinel"));
            assert!(
                (STRIKES.0..=STRIKES.1).contains(&strikes.len()),
                "{strikes:?}"
            );
            for (index, strike) in strikes.iter().enumerate() {
                assert!((FROM_S..UNTIL_S).contains(&strike.at_s));
                assert!(strike.for_s <= LASTS_S.1);
                let others = strikes.iter().skip(index + 1);
                assert!(
                    others.clone().all(|other| !strike.conflicts_with(other)),
                    "{strikes:?}"
                );
            }
        }
    }
}
