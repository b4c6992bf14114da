//! What every room store promises. `open` gives a store over a ledger that it makes fresh with `false`, and over the
//! same data as before with `true`, as after a restart. A model runs beside the store under random steps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fairgate_pass::{Digest, Holder};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{
    Called, Claimant, Claimed, Entered, Entrant, Figures, Freezing, JoinRefused, Leaving, Left,
    Moment, RoomStore, Shown, Standing, TickEnd,
};
use crate::admission::cohort::{Call, WAY_IN_LAPSES_MS};
use crate::admission::pace::VISITOR_U;
use crate::ledger::{Changed, Entry, Freeze, Ledger, ReleaseRow};

/// A store and the ledger that it writes through to.
pub struct Pair {
    /// The store under test; the room `"r"` is open.
    pub store: Arc<dyn RoomStore>,
    /// Its ledger.
    pub ledger: Arc<dyn Ledger>,
    /// Whether what the ledger does not have outlives the process: it lies in a server beside it.
    pub outlives: bool,
}

fn holder(of: u64) -> Holder {
    Holder(Digest::of(&of.to_be_bytes()).0)
}

fn entrant(of: u64) -> Entrant {
    Entrant {
        holder: holder(of),
        code: None,
        needs_code: false,
        now: 1000,
    }
}

fn shown(number: u64, of: u64) -> Shown {
    Shown {
        number,
        holder: holder(of),
        code: None,
        at: 1000,
    }
}

fn leaving(number: u64, now: i64) -> Leaving {
    Leaving {
        number,
        rank: None,
        now,
    }
}

/// The first who claim in a room for two, whose counter has called ten.
fn claimant(number: u64, now: i64) -> Claimant {
    Claimant {
        number,
        rank: number,
        released: 10,
        max_inside: 2,
        line: true,
        now,
    }
}

async fn frozen(store: &dyn RoomStore, now: i64) -> Freeze {
    match store.freeze("r", now).await.unwrap() {
        Freezing::Done(freeze) => freeze,
        Freezing::NotBefore(at) => panic!("not before {at}"),
    }
}

/// A pass that was written, without its way in.
async fn claimed(store: &dyn RoomStore, number: u64, exp_s: i64) -> bool {
    let claimed = Claimed {
        number,
        reserved: None,
        exp_s,
    };
    store.claimed("r", claimed).await.unwrap()
}

async fn figures(store: &dyn RoomStore, now: i64, ends_s: &[i64]) -> Figures {
    let moment = Moment {
        now,
        claim_ms: 5000,
        ends_s: ends_s.to_vec(),
        vitals: "{}".into(),
    };
    store.figures("r", moment).await.unwrap()
}

/// A tick at `until` that calls the given ranks, after one at `since`.
fn tick(since: i64, until: i64, called: std::ops::Range<u64>, away: &[u64]) -> TickEnd {
    let waited_for = called.clone().filter(|rank| !away.contains(rank)).count();
    TickEnd {
        since,
        until,
        owed_u: 0,
        credit_u: 0,
        per_s_u: 2 * VISITOR_U,
        called: (!called.is_empty()).then(|| Called {
            from: called.start,
            to: called.end,
            people: waited_for as u64,
            away: away.iter().copied().collect(),
        }),
        left: Left {
            row: ReleaseRow {
                released: called.end,
                ticked_at: until,
                ..ReleaseRow::default()
            },
            memory: "{}".into(),
        },
        now: until,
    }
}

/// Runs the whole suite.
pub async fn suite<F: Future<Output = Pair>>(open: impl Fn(bool) -> F) {
    one_place_for_one_holder(open(false).await).await;
    many_at_once_get_distinct_durable_numbers(open(false).await).await;
    leaving_before_the_freeze_voids_the_leaf_and_after_it_does_not(open(false).await).await;
    a_code_gives_one_place_and_stays_used(open(false).await).await;
    passes_and_finished_orders_are_counted(open(false).await).await;
    a_pass_counts_inside_though_its_place_was_left(&open).await;
    no_more_than_the_room_are_let_in_however_many_come_at_once(open(false).await).await;
    a_way_in_ends_with_its_claim_or_lapses(open(false).await).await;
    whoever_was_away_when_called_comes_by_the_pace(open(false).await).await;
    a_call_is_expected_until_it_is_answered_or_its_window_ends(open(false).await).await;
    of_two_ticks_that_began_together_one_stands(open(false).await).await;
    who_is_not_seen_for_a_minute_is_away_and_a_restart_forgets_it(&open).await;
    for seed in 0..4 {
        random_steps_follow_the_model_over_restarts(&open, seed).await;
    }
}

async fn one_place_for_one_holder(Pair { store, .. }: Pair) {
    let first = store.join("r", entrant(1)).await.unwrap();
    let again = store.join("r", entrant(1)).await.unwrap();
    assert!(first.fresh && !again.fresh);
    assert_eq!((first.number, again.number), (0, 0));
    assert_eq!(
        store
            .place_of("r", holder(1))
            .await
            .unwrap()
            .map(|place| place.number),
        Some(0)
    );
    assert!(matches!(
        store.standing("r", shown(0, 1)).await.unwrap(),
        Standing::Here(_)
    ));
    assert_eq!(
        store.standing("r", shown(0, 2)).await.unwrap(),
        Standing::Unknown,
        "a number is its holder's only"
    );
    assert_eq!(
        store.standing("r", shown(7, 1)).await.unwrap(),
        Standing::Unknown
    );
}

async fn many_at_once_get_distinct_durable_numbers(Pair { store, ledger, .. }: Pair) {
    // Every holder twice at once: two tabs of one browser.
    let joins: Vec<_> = (0..200)
        .map(|at| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.join("r", entrant(at / 2)).await.unwrap() })
        })
        .collect();
    let mut numbers = BTreeMap::new();
    for join in joins {
        let place = join.await.unwrap();
        assert_eq!(
            *numbers.entry(place.holder).or_insert(place.number),
            place.number
        );
    }
    let distinct: BTreeSet<_> = numbers.values().copied().collect();
    assert_eq!(distinct, (0..100).collect());
    store.settle("r").await.unwrap();
    assert_eq!(
        ledger.line("r").await.unwrap().places.len(),
        100,
        "what was answered is written"
    );
}

async fn leaving_before_the_freeze_voids_the_leaf_and_after_it_does_not(
    Pair { store, ledger, .. }: Pair,
) {
    for at in 0..4 {
        store.join("r", entrant(at)).await.unwrap();
    }
    store.leave("r", leaving(1, 2000)).await.unwrap();
    assert_eq!(
        store.standing("r", shown(1, 1)).await.unwrap(),
        Standing::Left
    );
    let back = store.join("r", entrant(1)).await.unwrap();
    assert_eq!(back.number, 4, "joining again gives a new number");
    let freeze = frozen(store.as_ref(), 3000).await;
    assert_eq!((freeze.n, frozen(store.as_ref(), 4000).await), (5, freeze));
    store.leave("r", leaving(2, 5000)).await.unwrap();
    assert_eq!(
        store.join("r", entrant(2)).await.unwrap().number,
        5,
        "after the freeze numbers begin at n"
    );
    let leaves = ledger.leaves("r", 5).await.unwrap();
    let expected = [holder(0).0, [0; 32], holder(2).0, holder(3).0, holder(1).0].concat();
    assert_eq!(leaves, expected);
    let absent = store.absent("r").await.unwrap();
    assert_eq!(absent.iter().collect::<Vec<_>>(), [1, 2]);
    assert!(absent.contains(2) && !absent.contains(3) && !absent.contains(1 << 40));
}

async fn a_code_gives_one_place_and_stays_used(Pair { store, ledger, .. }: Pair) {
    let code = Digest::of(b"code");
    let entry = || Entry {
        at: 0,
        role: "promoter",
        action: "codes_replaced",
        detail: serde_json::Value::Null,
    };
    for codes in [vec![Digest::of(b"replaced")], vec![code]] {
        let put = store.put_codes("r", codes, entry()).await.unwrap();
        assert!(matches!(put, Changed::To(_)));
    }
    let with = |of, code| Entrant {
        code,
        needs_code: true,
        ..entrant(of)
    };
    for bad in [
        None,
        Some(Digest::of(b"other")),
        Some(Digest::of(b"replaced")),
    ] {
        assert!(matches!(
            store.join("r", with(1, bad)).await,
            Err(JoinRefused::CodeInvalid)
        ));
    }
    let place = store.join("r", with(1, Some(code))).await.unwrap();
    assert_eq!(
        (place.number, place.code),
        (0, Some(code)),
        "a refused code used up no number"
    );
    let others = vec![Digest::of(b"too late")];
    assert_eq!(
        store.put_codes("r", others, entry()).await.unwrap(),
        Changed::Joined,
        "not once somebody has joined, whether the ledger has heard of it or not"
    );
    assert_eq!(
        store.join("r", with(1, None)).await.unwrap().number,
        0,
        "who has a place needs no code again"
    );
    assert!(matches!(
        store.join("r", with(2, Some(code))).await,
        Err(JoinRefused::CodeUsed)
    ));
    store.leave("r", leaving(0, 0)).await.unwrap();
    assert!(matches!(
        store.join("r", with(1, Some(code))).await,
        Err(JoinRefused::CodeUsed)
    ));
    store.settle("r").await.unwrap();
    let line = ledger.line("r").await.unwrap();
    assert_eq!(line.codes, [(code, Some(0))]);
}

async fn passes_and_finished_orders_are_counted(Pair { store, .. }: Pair) {
    for at in 0..3 {
        store.join("r", entrant(at)).await.unwrap();
    }
    assert!(claimed(store.as_ref(), 0, 100).await);
    assert!(claimed(store.as_ref(), 1, 200).await);
    assert!(
        !claimed(store.as_ref(), 1, 210).await,
        "the second pass of one number"
    );
    assert_eq!(store.counts("r", 99).await.unwrap().inside, 2);
    assert_eq!(
        store.counts("r", 100).await.unwrap().inside,
        1,
        "a pass that ran out is not inside"
    );
    assert_eq!(
        figures(store.as_ref(), 101_000, &[100, 209, 210])
            .await
            .beyond,
        [1, 1, 0],
        "by the end of their passes"
    );
    store.done("r", 4, &[holder(1), holder(9)]).await.unwrap();
    let counts = store.counts("r", 101).await.unwrap();
    assert_eq!(
        (counts.inside, counts.claimed, counts.done, counts.finished),
        (0, 2, 1, 4)
    );
    assert_eq!(counts.ended, 1, "the pass that ran out");
}

async fn who_is_not_seen_for_a_minute_is_away_and_a_restart_forgets_it<F: Future<Output = Pair>>(
    open: &impl Fn(bool) -> F,
) {
    let pair = open(false).await;
    for at in 0..4 {
        pair.store.join("r", entrant(at)).await.unwrap();
    }
    let away = async |pair: &Pair, now_s| {
        let away = pair.store.away("r", now_s).await.unwrap();
        away.iter().collect::<Vec<_>>()
    };
    assert!(
        away(&pair, 100).await.is_empty(),
        "nobody has looked long enough"
    );
    pair.store.seen("r", &[1, 77], 130).await.unwrap();
    pair.store.leave("r", leaving(3, 0)).await.unwrap();
    assert!(away(&pair, 159).await.is_empty());
    assert_eq!(
        away(&pair, 160).await,
        [0, 2],
        "and who left is absent, not away"
    );
    pair.store.seen("r", &[0], 170).await.unwrap();
    assert_eq!(away(&pair, 189).await, [2]);
    assert_eq!(
        away(&pair, 195).await,
        [1, 2],
        "a store may tell it a few seconds late, and never early"
    );
    let pair = open(true).await;
    if pair.outlives {
        assert_eq!(
            away(&pair, 200).await,
            [1, 2],
            "others have gone on looking"
        );
        return;
    }
    assert!(
        away(&pair, 200).await.is_empty(),
        "presence is unknown after a restart"
    );
    assert_eq!(away(&pair, 260).await, [0, 1, 2]);
}

async fn joined(store: &dyn RoomStore, count: u64) {
    for at in 0..count {
        store.join("r", entrant(at)).await.unwrap();
    }
}

async fn no_more_than_the_room_are_let_in_however_many_come_at_once(Pair { store, .. }: Pair) {
    joined(store.as_ref(), 8).await;
    store.ticked("r", tick(0, 1000, 0..8, &[])).await.unwrap();
    let claims: Vec<_> = (0..8)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.enter("r", claimant(number, 1500)).await.unwrap() })
        })
        .collect();
    let mut let_in = 0;
    for claim in claims {
        let_in += u64::from(claim.await.unwrap() == Entered::Let { first: true });
    }
    assert_eq!(let_in, 2, "the room is for two");
    let not_called = Claimant {
        max_inside: 100,
        released: 0,
        ..claimant(9, 1500)
    };
    assert_eq!(
        store.enter("r", not_called).await.unwrap(),
        Entered::Wait,
        "whatever room there is"
    );
}

async fn a_way_in_ends_with_its_claim_or_lapses(Pair { store, .. }: Pair) {
    joined(store.as_ref(), 4).await;
    store.ticked("r", tick(0, 1000, 0..4, &[])).await.unwrap();
    let enter = async |number, now| store.enter("r", claimant(number, now)).await.unwrap();
    assert_eq!(enter(0, 1100).await, Entered::Let { first: true });
    assert_eq!(enter(1, 1100).await, Entered::Let { first: true });
    assert_eq!(
        enter(1, 1100).await,
        Entered::Let { first: true },
        "the second tab of one who is let in"
    );
    assert_eq!(enter(2, 1100).await, Entered::Wait);
    store.turned_back("r", 0, true).await.unwrap();
    assert_eq!(
        enter(2, 1200).await,
        Entered::Let { first: true },
        "what could not be written is free again"
    );
    let claim = Claimed {
        number: 2,
        reserved: Some(2),
        exp_s: 100,
    };
    assert!(store.claimed("r", claim).await.unwrap());
    assert_eq!(enter(2, 1300).await, Entered::Lives);
    let seen = figures(store.as_ref(), 1400, &[]).await;
    assert_eq!((seen.counts.inside, seen.entering), (1, 1));
    // Nobody ended the way in of number 1: its node died. It is not waited for, and its room is free.
    let lapsed = 1100 + WAY_IN_LAPSES_MS;
    assert_eq!(figures(store.as_ref(), lapsed, &[]).await.entering, 0);
    store
        .ticked("r", tick(1000, lapsed, 4..5, &[]))
        .await
        .unwrap();
    assert_eq!(enter(4, lapsed + 1).await, Entered::Let { first: true });
    assert_eq!(
        enter(2, 100_000).await,
        Entered::Wait,
        "a second pass comes by the pace"
    );
}

async fn whoever_was_away_when_called_comes_by_the_pace(Pair { store, .. }: Pair) {
    joined(store.as_ref(), 4).await;
    store
        .ticked("r", tick(0, 1000, 0..4, &[0, 2]))
        .await
        .unwrap();
    let roomy = |number| Claimant {
        max_inside: 100,
        ..claimant(number, 1500)
    };
    let enter = async |number| store.enter("r", roomy(number)).await.unwrap();
    assert_eq!(enter(1).await, Entered::Let { first: true });
    assert_eq!(
        enter(0).await,
        Entered::Wait,
        "no pace was earned for it yet"
    );
    let earned = TickEnd {
        credit_u: VISITOR_U,
        ..tick(1000, 2000, 4..4, &[])
    };
    store.ticked("r", earned).await.unwrap();
    assert_eq!(enter(2).await, Entered::Let { first: true });
    assert_eq!(
        enter(0).await,
        Entered::Wait,
        "that was one visitor's worth"
    );
    assert_eq!(figures(store.as_ref(), 2500, &[]).await.owed_u, VISITOR_U);
    let no_line = Claimant {
        line: false,
        ..roomy(0)
    };
    assert_eq!(
        store.enter("r", no_line).await.unwrap(),
        Entered::Let { first: true }
    );
}

async fn a_call_is_expected_until_it_is_answered_or_its_window_ends(Pair { store, .. }: Pair) {
    joined(store.as_ref(), 12).await;
    assert_eq!(figures(store.as_ref(), 0, &[]).await.counted_until, 0);
    store.ticked("r", tick(0, 1000, 0..10, &[9])).await.unwrap();
    store
        .ticked("r", tick(1000, 2000, 10..12, &[]))
        .await
        .unwrap();
    let seen = figures(store.as_ref(), 2000, &[]).await;
    assert_eq!((seen.expected, seen.counted_until), (11, 2000));
    assert!((seen.show_up - 1.0).abs() < 1e-9);
    let calls = [(0, 10, 1000), (10, 12, 2000)].map(|(from, to, at)| Call { from, to, at });
    assert_eq!(seen.calls, calls);
    for number in [3, 4] {
        let roomy = Claimant {
            max_inside: 100,
            ..claimant(number, 2500)
        };
        store.enter("r", roomy).await.unwrap();
        let claim = Claimed {
            number,
            reserved: Some(number),
            exp_s: 100,
        };
        store.claimed("r", claim).await.unwrap();
    }
    for rank in [3, 5, 9] {
        let leaving = Leaving {
            rank: Some(rank),
            ..leaving(rank, 0)
        };
        store.leave("r", leaving).await.unwrap();
    }
    let seen = figures(store.as_ref(), 3000, &[]).await;
    assert_eq!(
        seen.expected, 8,
        "to claim and then leave is one answer, and nobody waited for who was away"
    );
    let later = figures(store.as_ref(), 6001, &[]).await;
    assert_eq!((later.expected, later.calls.len()), (2, 1));
    assert!(
        (later.show_up - 22.0 / 29.0).abs() < 1e-9,
        "two of nine came: {}",
        later.show_up
    );
    let later = figures(store.as_ref(), 7001, &[]).await;
    assert_eq!((later.expected, later.calls.len()), (0, 0));
}

async fn of_two_ticks_that_began_together_one_stands(Pair { store, .. }: Pair) {
    joined(store.as_ref(), 4).await;
    let earned = |since, until, called| TickEnd {
        credit_u: 5 * VISITOR_U,
        owed_u: VISITOR_U,
        ..tick(since, until, called, &[])
    };
    assert!(store.ticked("r", earned(0, 1000, 0..0)).await.unwrap());
    assert!(!store.ticked("r", earned(0, 1100, 0..2)).await.unwrap());
    let seen = figures(store.as_ref(), 1200, &[]).await;
    assert_eq!((seen.counted_until, seen.owed_u), (1000, VISITOR_U));
    assert_eq!(
        seen.expected, 2,
        "whom the ledger has called is waited for all the same"
    );
    let late = |number| Claimant {
        max_inside: 100,
        ..claimant(number, 1300)
    };
    let mut let_in = 0;
    for number in [5, 6, 7] {
        let entered = store.enter("r", late(number)).await.unwrap();
        let_in += u64::from(entered == Entered::Let { first: true });
    }
    assert_eq!(let_in, 2, "late comers bank one second's pace");
}

async fn a_pass_counts_inside_though_its_place_was_left<F: Future<Output = Pair>>(
    open: &impl Fn(bool) -> F,
) {
    let pair = open(false).await;
    for at in 0..2 {
        pair.store.join("r", entrant(at)).await.unwrap();
        let fresh = crate::ledger::PassRow {
            number: at,
            rank: at,
            holder: holder(at),
            iat: 0,
            exp: 100,
            jti: format!("pass_{at}"),
        };
        pair.ledger.claim("r", fresh, 0).await.unwrap();
        claimed(pair.store.as_ref(), at, 100).await;
        pair.store.leave("r", leaving(at, 0)).await.unwrap();
    }
    let inside = async |pair: &Pair, now_s| pair.store.counts("r", now_s).await.unwrap().inside;
    assert_eq!(inside(&pair, 1).await, 2, "the passes still open booking");
    let pair = open(true).await;
    assert_eq!(inside(&pair, 1).await, 2, "also after a restart");
    pair.ledger.finish("r", 1, &[holder(0)], 0).await.unwrap();
    pair.store.done("r", 1, &[holder(0)]).await.unwrap();
    assert_eq!(inside(&pair, 1).await, 1, "an order ends it");
    let pair = open(true).await;
    assert_eq!((inside(&pair, 1).await, inside(&pair, 100).await), (1, 0));
}

/// What a line must look like, as simply as it can be said.
#[derive(Default)]
struct Model {
    places: BTreeMap<u64, u64>,
    next: u64,
    left: BTreeSet<u64>,
    void: BTreeSet<u64>,
    frozen: Option<u64>,
}

async fn random_steps_follow_the_model_over_restarts<F: Future<Output = Pair>>(
    open: &impl Fn(bool) -> F,
    seed: u64,
) {
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut model, mut pair) = (Model::default(), open(false).await);
    for step in 0..120 {
        let of = rng.random_range(0..25);
        match rng.random_range(0..20) {
            0 if step > 60 => {
                let n = frozen(pair.store.as_ref(), 0).await.n;
                assert_eq!(n, *model.frozen.get_or_insert(model.next));
            }
            1 => pair = open(true).await,
            2..=6 => {
                if let Some(number) = model.places.remove(&of) {
                    pair.store.leave("r", leaving(number, 0)).await.unwrap();
                    model.left.insert(number);
                    if model.frozen.is_none() {
                        model.void.insert(number);
                    }
                }
            }
            _ => {
                let number = pair.store.join("r", entrant(of)).await.unwrap().number;
                let next = model.next;
                assert_eq!(number, *model.places.entry(of).or_insert(next));
                model.next += u64::from(number == next);
            }
        }
        let counts = pair.store.counts("r", 0).await.unwrap();
        assert_eq!(
            (counts.joined, counts.absent),
            (model.next, model.left.len() as u64),
            "seed {seed} step {step}"
        );
    }
    pair.store.settle("r").await.unwrap();
    let leaves = pair.ledger.leaves("r", model.next).await.unwrap();
    for (number, leaf) in (0..).zip(leaves.as_chunks::<32>().0) {
        assert_eq!(
            *leaf == [0; 32],
            model.void.contains(&number),
            "number {number} of seed {seed}"
        );
    }
}
