//! Contract cases for the places of networks and for used challenges.

use fairgate_rules::network_limits::{
    JoinProof, NetworkBounds, NetworkLimits, NetworkPlaces, NetworkPrice, TollDemand, price,
};
use fairgate_rules::recent_places::{RECENT_SLICE_MS, RECENT_SLICES};

use super::*;
use crate::ledger::{NetworkEpoch, NetworkKey, NetworkKeys};
use crate::store::{NetworkToll, SingleUseId, TollRefusal, WaitRequest, WaitReservation};

const OWN: NetworkKey = [1; 8];
const WIDER: NetworkKey = [2; 8];

fn keys(keys: &[NetworkKey]) -> NetworkKeys {
    keys.iter().copied().collect()
}

/// Builds a visitor whose own network may have `own` places, and whose wider networks may have
/// `wider` places each.
fn visitor(of: u64, networks: &[NetworkKey], own: u64, wider: u64) -> StoreJoinRequest {
    StoreJoinRequest {
        toll: NetworkToll {
            keys: keys(networks),
            bounds: NetworkBounds {
                own,
                wider,
                ..NetworkBounds::NONE
            },
            solved: None,
        },
        ..entrant(of)
    }
}

/// Builds a visitor of a fresh /64 in one IPv6 /40, who pays with `proof` at `now` (ms).
fn visitor_of_slash_40(
    of: u64,
    (slash_40, slash_32): (u8, u8),
    proof: JoinProof,
    now: i64,
) -> StoreJoinRequest {
    let limits = NetworkLimits::default();
    StoreJoinRequest {
        toll: NetworkToll {
            keys: keys_of_slash_40(of, (slash_40, slash_32)),
            bounds: NetworkBounds::of_proof(limits, proof, TollDemand::default()),
            solved: None,
        },
        now,
        ..entrant(of)
    }
}

/// Returns the keys of a /64 that has a /56 and a /48 of its own, in a /40 and a /32.
fn keys_of_slash_40(of: u64, (slash_40, slash_32): (u8, u8)) -> NetworkKeys {
    let own = |kind: u8| {
        let mut key = of.to_be_bytes();
        key[0] = kind;
        key
    };
    let around = [[0x40; 8], [0x32; 8]];
    let [mut wide, mut widest] = around;
    (wide[7], widest[7]) = (slash_40, slash_32);
    keys(&[own(0x64), own(0x56), own(0x48), wide, widest])
}

fn lasting_places(own: u64, wider: u64) -> NetworkPlaces {
    NetworkPlaces {
        own,
        wider,
        ..NetworkPlaces::default()
    }
}

fn too_many_places(own: u64, wider: u64) -> Option<TollRefusal> {
    Some(TollRefusal::TooManyPlaces(lasting_places(own, wider)))
}

fn toll_refusal(joined: Result<super::super::Place, StoreJoinRefusal>) -> Option<TollRefusal> {
    match joined {
        Ok(_) => None,
        Err(StoreJoinRefusal::Toll(refusal)) => Some(refusal),
        Err(other) => panic!("{other:?}"),
    }
}

pub(super) async fn a_network_gets_as_many_places_as_it_paid_for(Pair { store, .. }: Pair) {
    let join = async |visitor| toll_refusal(store.join("r", visitor).await);
    for of in 0..2 {
        assert_eq!(join(visitor(of, &[OWN, WIDER], 2, 5)).await, None);
    }
    assert_eq!(
        join(visitor(2, &[OWN, WIDER], 2, 5)).await,
        too_many_places(2, 2)
    );
    // A neighbour in the same wider network still gets a place.
    assert_eq!(join(visitor(3, &[[3; 8], WIDER], 2, 5)).await, None);
    assert_eq!(
        join(visitor(4, &[[4; 8], WIDER], 2, 3)).await,
        too_many_places(0, 3)
    );
    // A visitor who has a place gets it again, even if the network is full.
    assert_eq!(join(visitor(0, &[OWN, WIDER], 0, 0)).await, None);
    let places = store
        .network_places("r", keys(&[OWN, WIDER]), 1000)
        .await
        .unwrap();
    assert_eq!(places, lasting_places(2, 3));
    // A visitor who is refused gets no number.
    let next = store.join("r", entrant(9)).await.unwrap();
    assert_eq!(next.number, 3);
}

pub(super) async fn joins_at_once_exceed_no_bound(Pair { store, .. }: Pair) {
    let joins: Vec<_> = (0..40)
        .map(|of| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let visitor = visitor(of, &[OWN, WIDER], 10, u64::MAX);
                store.join("r", visitor).await.is_ok()
            })
        })
        .collect();
    let mut given = 0;
    for join in joins {
        given += u64::from(join.await.unwrap());
    }
    assert_eq!(given, 10);
}

pub(super) async fn a_place_counts_after_it_was_left(Pair { store, .. }: Pair) {
    let place = store.join("r", visitor(0, &[OWN], 1, 1)).await.unwrap();
    store.leave("r", leaving(place.number, 2000)).await.unwrap();
    let again = store.join("r", visitor(0, &[OWN], 1, 1)).await;
    assert_eq!(toll_refusal(again), too_many_places(1, 0));
}

pub(super) async fn a_solution_counts_once(Pair { store, .. }: Pair) {
    let solved = |id| SingleUseId {
        id: [id; 16],
        expires_at: 61_000,
    };
    let paying = |of, id| {
        let mut visitor = visitor(of, &[OWN], 10, 10);
        visitor.toll.solved = Some(solved(id));
        visitor
    };
    let join = async |visitor| toll_refusal(store.join("r", visitor).await);
    assert_eq!(join(paying(0, 1)).await, None);
    assert_eq!(join(paying(1, 1)).await, Some(TollRefusal::SolutionUsed));
    assert_eq!(join(paying(1, 2)).await, None);
    // A claim with a used solution is refused, too, and a claim uses its solution up.
    let claimant = |number, id| Claimant {
        number,
        rank: number,
        released: 10,
        max_inside: 10,
        line: false,
        idle_ms: idle_ms(Some(2 * VISITOR_U)),
        toll: paying(0, id).toll,
        now: 2000,
    };
    let admit = async |claimant| store.admit_claimant("r", claimant).await.unwrap();
    assert_eq!(
        admit(claimant(0, 2)).await,
        AdmissionDecision::Toll(TollRefusal::SolutionUsed)
    );
    assert_eq!(
        admit(claimant(0, 3)).await,
        AdmissionDecision::Let { first: true }
    );
    assert_eq!(
        admit(claimant(1, 3)).await,
        AdmissionDecision::Toll(TollRefusal::SolutionUsed)
    );
}

pub(super) async fn a_claim_is_refused_where_its_network_has_more_places_than_were_paid_for(
    Pair { store, .. }: Pair,
) {
    for of in 0..3 {
        store.join("r", visitor(of, &[OWN], 10, 10)).await.unwrap();
    }
    let claimant = |number, own| Claimant {
        number,
        rank: number,
        released: 10,
        max_inside: 10,
        line: false,
        idle_ms: idle_ms(Some(2 * VISITOR_U)),
        toll: visitor(0, &[OWN], own, u64::MAX).toll,
        now: 2000,
    };
    let admit = async |claimant| store.admit_claimant("r", claimant).await.unwrap();
    assert_eq!(
        admit(claimant(0, 3)).await,
        AdmissionDecision::Toll(TollRefusal::TooManyPlaces(lasting_places(3, 0)))
    );
    // A claim does not count as a place.
    assert_eq!(
        admit(claimant(0, 4)).await,
        AdmissionDecision::Let { first: true }
    );
    assert_eq!(
        admit(claimant(1, 4)).await,
        AdmissionDecision::Let { first: true }
    );
}

pub(super) async fn the_places_of_networks_are_known_after_a_restart(open: StoreOpener<'_>) {
    let first = open(false).await;
    for of in 0..3 {
        let visitor = visitor(of, &[OWN, WIDER], 10, 10);
        first.store.join("r", visitor).await.unwrap();
    }
    let minute = RECENT_SLICE_MS;
    for (of, at) in [(3, minute), (4, 2 * minute)] {
        let visitor = visitor_of_slash_40(of, (1, 1), JoinProof::None, at);
        first.store.join("r", visitor).await.unwrap();
    }
    first.store.flush_to_ledger("r").await.unwrap();
    drop(first);
    let second = open(true).await;
    let places = second.store.network_places("r", keys(&[OWN, WIDER]), 1000);
    assert_eq!(places.await.unwrap(), lasting_places(3, 3));
    for (minutes, recent) in [(2, 2), (11, 2), (12, 1), (13, 0)] {
        let keys = keys_of_slash_40(9, (1, 1));
        let places = second.store.network_places("r", keys, minutes * minute);
        let places = places.await.unwrap();
        assert_eq!(
            (places.slash_40, places.slash_32),
            (recent, recent),
            "{minutes}"
        );
    }
}

/// Joins from a fresh /64 with only the work that the store asks for. Returns how many seconds of a
/// phone the work takes.
async fn join_for_the_price(store: &dyn RoomStore, of: u64, networks: (u8, u8), now: i64) -> u64 {
    let (mut proof, mut paid_s) = (JoinProof::None, 0);
    loop {
        let joined = store
            .join("r", visitor_of_slash_40(of, networks, proof, now))
            .await;
        let Some(TollRefusal::TooManyPlaces(places)) = toll_refusal(joined) else {
            return paid_s;
        };
        match price(NetworkLimits::default(), places, TollDemand::default()) {
            NetworkPrice::Work(level) => {
                (proof, paid_s) = (JoinProof::Work(level), level.phone_s())
            }
            other => panic!("{other:?}"),
        }
    }
}

/// 5,000 visitors, each of a fresh /64, join from one /40 within five minutes, 50 at a time.
pub(super) async fn the_price_in_one_slash_40_grows_with_its_recent_places(
    Pair { store, .. }: Pair,
) {
    let ms_of = |of: u64| 1000 + i64::try_from(of).unwrap() * 60;
    let mut paid: BTreeMap<u64, u64> = BTreeMap::new();
    for first in (0..5000).step_by(50) {
        let joins = (first..first + 50).map(|of| {
            let store = Arc::clone(&store);
            let join = async move { join_for_the_price(&*store, of, (1, 1), ms_of(of)).await };
            tokio::spawn(join)
        });
        for join in joins.collect::<Vec<_>>() {
            *paid.entry(join.await.unwrap()).or_default() += 1;
        }
    }
    assert_eq!(paid[&0], 3000, "no bound is exceeded by joins at once");
    for seconds in [1, 2, 4, 8] {
        let people = paid[&seconds];
        assert!((325..=425).contains(&people), "{seconds} s: {people}");
    }
    assert_eq!(paid.values().sum::<u64>(), 5000);
    assert!(paid[&15] >= 450, "{paid:?}");
    // Another /40 of the same /32 has few places, and the /32 has fewer than 30,000.
    let now = ms_of(5000);
    assert_eq!(join_for_the_price(&*store, 5000, (2, 1), now).await, 0);
    // When the minutes have passed, the places of the /40 do not count any more.
    let later = now + (RECENT_SLICES + 1) * RECENT_SLICE_MS;
    assert_eq!(join_for_the_price(&*store, 5001, (1, 1), later).await, 0);
    let counted = store.network_places("r", keys_of_slash_40(0, (1, 1)), later);
    let counted = counted.await.unwrap();
    assert_eq!((counted.slash_40, counted.slash_32), (1, 1));
}

pub(super) async fn the_recent_places_of_a_slash_32_bound_joins_and_claims(
    Pair { store, .. }: Pair,
) {
    let minute = RECENT_SLICE_MS;
    let visitor = |of: u64, slash_40: u8, bound: u64, now: i64| {
        let mut visitor = visitor_of_slash_40(of, (slash_40, 1), JoinProof::None, now);
        visitor.toll.bounds.slash_32 = bound;
        visitor
    };
    let refusal = |slash_40, slash_32| {
        TollRefusal::TooManyPlaces(NetworkPlaces {
            slash_40,
            slash_32,
            ..NetworkPlaces::default()
        })
    };
    let join = async |visitor| toll_refusal(store.join("r", visitor).await);
    for (of, now) in [(0, 0), (1, 4 * minute), (2, 8 * minute)] {
        assert_eq!(join(visitor(of, of as u8, 3, now)).await, None);
    }
    let refused = join(visitor(3, 1, 3, 10 * minute)).await;
    assert_eq!(refused, Some(refusal(1, 3)));
    let claimant = |now, bound| Claimant {
        number: 0,
        rank: 0,
        released: 10,
        max_inside: 10,
        line: false,
        idle_ms: idle_ms(Some(2 * VISITOR_U)),
        toll: visitor(9, 1, bound, now).toll,
        now,
    };
    let admit = async |claimant| store.admit_claimant("r", claimant).await.unwrap();
    let refused = admit(claimant(10 * minute, 3)).await;
    assert_eq!(refused, AdmissionDecision::Toll(refusal(1, 3)));
    // The first place is older than ten minutes, and a claim does not count as a place.
    let admitted = admit(claimant(11 * minute, 3)).await;
    assert_eq!(admitted, AdmissionDecision::Let { first: true });
    assert_eq!(join(visitor(3, 1, 3, 11 * minute)).await, None);
}

pub(super) async fn the_waits_of_a_network_follow_each_other_up_to_a_limit(
    Pair { store, .. }: Pair,
) {
    let wait = async |network, now| {
        let request = WaitRequest {
            network,
            takes_ms: 15_000,
            longest_ms: 40_000,
            now,
        };
        store.reserve_wait("r", request).await.unwrap()
    };
    assert_eq!(wait(OWN, 1000).await, WaitReservation::Until(16_000));
    assert_eq!(wait(OWN, 2000).await, WaitReservation::Until(31_000));
    assert_eq!(wait(WIDER, 2000).await, WaitReservation::Until(17_000));
    // A refused wait delays no other wait, even if the visitor asks again and again.
    for _ in 0..3 {
        let full = WaitReservation::FullUntil(6000);
        assert_eq!(wait(OWN, 2000).await, full);
    }
    assert_eq!(wait(OWN, 6000).await, WaitReservation::Until(46_000));
    assert_eq!(wait(OWN, 60_000).await, WaitReservation::Until(75_000));
}

pub(super) async fn only_the_networks_of_earlier_days_are_forgotten_daily(
    Pair { store, .. }: Pair,
) {
    let of_day = |day| {
        let [high, low] = NetworkEpoch::of_day(day).0.to_be_bytes();
        [high, low, 1, 1, 1, 1, 1, 1]
    };
    let lasting = [0xff, 0xff, 1, 1, 1, 1, 1, 1];
    let all = [of_day(1), of_day(2), of_day(3), lasting];
    for (of, key) in (0..).zip(all) {
        store.join("r", visitor(of, &[key], 9, 9)).await.unwrap();
    }
    let counted = async || {
        let mut counted = Vec::new();
        for key in all {
            let places = store.network_places("r", keys(&[key]), 1000).await;
            counted.push(places.unwrap().own);
        }
        counted
    };
    assert_eq!(counted().await, [1, 1, 1, 1]);
    let today = Some(NetworkEpoch::of_day(2));
    store.forget_networks("r", today).await.unwrap();
    assert_eq!(counted().await, [0, 1, 1, 0]);
    store.forget_networks("r", None).await.unwrap();
    assert_eq!(counted().await, [0, 0, 0, 0]);
}

pub(super) async fn networks_of_a_room_that_is_over_are_forgotten(
    Pair { store, ledger, .. }: Pair,
) {
    for of in 0..3 {
        let entrant = StoreJoinRequest {
            now: 1000 * of as i64,
            ..visitor(of, &[OWN], 9, 9)
        };
        store.join("r", entrant).await.unwrap();
    }
    store.flush_to_ledger("r").await.unwrap();
    let networks = async || {
        let places = ledger.places("r", 0, 9).await.unwrap();
        let networks = places.iter().map(|place| place.join.networks);
        networks
            .map(|keys| keys.as_slice().len())
            .collect::<Vec<_>>()
    };
    assert_eq!(networks().await, [1, 1, 1]);
    // Only older places are forgotten, a few at a time.
    let some = ledger.forget_networks("r", 0, 1, 1500).await.unwrap();
    assert_eq!((some, networks().await), (Some(1), vec![0, 1, 1]));
    let rest = ledger.forget_networks("r", 1, 9, 1500).await.unwrap();
    assert_eq!((rest, networks().await), (None, vec![0, 0, 1]));
    let all = ledger.forget_networks("r", 2, 9, i64::MAX).await.unwrap();
    assert_eq!((all, networks().await), (None, vec![0, 0, 0]));
    store.forget_networks("r", None).await.unwrap();
    let places = store.network_places("r", keys(&[OWN]), 2000).await;
    assert_eq!(places.unwrap(), NetworkPlaces::default());
}

pub(super) async fn the_last_move_of_a_place_is_noted(Pair { store, .. }: Pair) {
    let moved_at = async |number| store.moved_at("r", number).await.unwrap();
    assert_eq!(moved_at(3).await, None);
    for at in [1_000, 2_000] {
        store.note_moved("r", 3, at).await.unwrap();
        assert_eq!(moved_at(3).await, Some(at));
    }
    assert_eq!(moved_at(4).await, None);
}

pub(super) async fn a_code_counts_once_even_for_many_at_once(Pair { store, .. }: Pair) {
    let code = |id| SingleUseId {
        id: [id; 16],
        expires_at: 301_000,
    };
    let uses: Vec<_> = (0..20)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.use_once("r", code(1), 1_000).await.unwrap() })
        })
        .collect();
    let mut counted = 0;
    for used in uses {
        counted += u64::from(used.await.unwrap());
    }
    assert_eq!(counted, 1);
    assert!(store.use_once("r", code(2), 1_000).await.unwrap());
    assert!(!store.use_once("r", code(2), 2_000).await.unwrap());
}
