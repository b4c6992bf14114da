//! What every room store promises. `open` gives a store over a ledger that it makes fresh with `false`, and over the
//! same data as before with `true`, as after a restart. A model runs beside the store under random steps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fairgate_pass::{Digest, Holder};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Entrant, JoinRefused, RoomStore, Standing};
use crate::ledger::Ledger;

/// A store and the ledger that it writes through to.
pub struct Pair {
    /// The store under test; the room `"r"` is open.
    pub store: Arc<dyn RoomStore>,
    /// Its ledger.
    pub ledger: Arc<dyn Ledger>,
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

/// Runs the whole suite.
pub async fn suite<F: Future<Output = Pair>>(open: impl Fn(bool) -> F) {
    one_place_for_one_holder(open(false).await).await;
    many_at_once_get_distinct_durable_numbers(open(false).await).await;
    leaving_before_the_freeze_voids_the_leaf_and_after_it_does_not(open(false).await).await;
    a_code_gives_one_place_and_stays_used(open(false).await).await;
    passes_and_finished_orders_are_counted(open(false).await).await;
    a_pass_counts_inside_though_its_place_was_left(&open).await;
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
            .map(|place| place.number),
        Some(0)
    );
    assert!(matches!(
        store.standing("r", 0, holder(1)).await,
        Standing::Here(_)
    ));
    assert_eq!(
        store.standing("r", 0, holder(2)).await,
        Standing::Unknown,
        "a number is its holder's only"
    );
    assert_eq!(store.standing("r", 7, holder(1)).await, Standing::Unknown);
}

async fn many_at_once_get_distinct_durable_numbers(Pair { store, ledger }: Pair) {
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
    assert_eq!(
        ledger.line("r").await.unwrap().places.len(),
        100,
        "what was answered is written"
    );
}

async fn leaving_before_the_freeze_voids_the_leaf_and_after_it_does_not(
    Pair { store, ledger }: Pair,
) {
    for at in 0..4 {
        store.join("r", entrant(at)).await.unwrap();
    }
    store.leave("r", 1, 2000).await.unwrap();
    assert_eq!(store.standing("r", 1, holder(1)).await, Standing::Left);
    let back = store.join("r", entrant(1)).await.unwrap();
    assert_eq!(back.number, 4, "joining again gives a new number");
    let freeze = store.freeze("r", 3000).await.unwrap();
    assert_eq!(
        (freeze.n, store.freeze("r", 4000).await.unwrap()),
        (5, freeze)
    );
    store.leave("r", 2, 5000).await.unwrap();
    assert_eq!(
        store.join("r", entrant(2)).await.unwrap().number,
        5,
        "after the freeze numbers begin at n"
    );
    let leaves = ledger.leaves("r", 5).await.unwrap();
    let expected = [holder(0).0, [0; 32], holder(2).0, holder(3).0, holder(1).0].concat();
    assert_eq!(leaves, expected);
    let absent = store.absent("r").await;
    assert_eq!(absent.iter().collect::<Vec<_>>(), [1, 2]);
    assert!(absent.contains(2) && !absent.contains(3) && !absent.contains(1 << 40));
}

async fn a_code_gives_one_place_and_stays_used(Pair { store, ledger }: Pair) {
    let code = Digest::of(b"code");
    let entry = crate::ledger::Entry {
        at: 0,
        role: "promoter",
        action: "codes_replaced",
        detail: serde_json::Value::Null,
    };
    ledger.put_codes("r", vec![code], entry).await.unwrap();
    store.put_codes("r", &[code]).await;
    let with = |of, code| Entrant {
        code,
        needs_code: true,
        ..entrant(of)
    };
    for bad in [None, Some(Digest::of(b"other"))] {
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
    assert_eq!(
        store.join("r", with(1, None)).await.unwrap().number,
        0,
        "who has a place needs no code again"
    );
    assert!(matches!(
        store.join("r", with(2, Some(code))).await,
        Err(JoinRefused::CodeUsed)
    ));
    store.leave("r", 0, 0).await.unwrap();
    assert!(matches!(
        store.join("r", with(1, Some(code))).await,
        Err(JoinRefused::CodeUsed)
    ));
}

async fn passes_and_finished_orders_are_counted(Pair { store, .. }: Pair) {
    for at in 0..3 {
        store.join("r", entrant(at)).await.unwrap();
    }
    assert!(store.claimed("r", 0, 100).await);
    assert!(store.claimed("r", 1, 200).await);
    assert!(
        !store.claimed("r", 1, 210).await,
        "the second pass of one number"
    );
    assert_eq!(store.counts("r", 99).await.inside, 2);
    assert_eq!(
        store.counts("r", 100).await.inside,
        1,
        "a pass that ran out is not inside"
    );
    assert_eq!(
        store.inside_beyond("r", &[100, 209, 210]).await,
        [1, 1, 0],
        "by the end of their passes"
    );
    store.done("r", 4, &[holder(1), holder(9)]).await;
    let counts = store.counts("r", 101).await;
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
        let away = pair.store.away("r", now_s).await;
        away.iter().collect::<Vec<_>>()
    };
    assert!(
        away(&pair, 100).await.is_empty(),
        "nobody has looked long enough"
    );
    pair.store.seen("r", &[1, 77], 130).await;
    pair.store.leave("r", 3, 0).await.unwrap();
    assert!(away(&pair, 159).await.is_empty());
    assert_eq!(
        away(&pair, 160).await,
        [0, 2],
        "and who left is absent, not away"
    );
    pair.store.seen("r", &[0], 170).await;
    assert_eq!(away(&pair, 190).await, [1, 2]);
    let pair = open(true).await;
    assert!(
        away(&pair, 200).await.is_empty(),
        "presence is unknown after a restart"
    );
    assert_eq!(away(&pair, 260).await, [0, 1, 2]);
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
        pair.store.claimed("r", at, 100).await;
        pair.store.leave("r", at, 0).await.unwrap();
    }
    let inside = async |pair: &Pair, now_s| pair.store.counts("r", now_s).await.inside;
    assert_eq!(inside(&pair, 1).await, 2, "the passes still open booking");
    let pair = open(true).await;
    assert_eq!(inside(&pair, 1).await, 2, "also after a restart");
    pair.ledger.finish("r", 1, &[holder(0)], 0).await.unwrap();
    pair.store.done("r", 1, &[holder(0)]).await;
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
                let n = pair.store.freeze("r", 0).await.unwrap().n;
                assert_eq!(n, *model.frozen.get_or_insert(model.next));
            }
            1 => pair = open(true).await,
            2..=6 => {
                if let Some(number) = model.places.remove(&of) {
                    pair.store.leave("r", number, 0).await.unwrap();
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
        let counts = pair.store.counts("r", 0).await;
        assert_eq!(
            (counts.joined, counts.absent),
            (model.next, model.left.len() as u64),
            "seed {seed} step {step}"
        );
    }
    let leaves = pair.ledger.leaves("r", model.next).await.unwrap();
    for (number, leaf) in (0..).zip(leaves.as_chunks::<32>().0) {
        assert_eq!(
            *leaf == [0; 32],
            model.void.contains(&number),
            "number {number} of seed {seed}"
        );
    }
}
