//! Runs random steps and restarts on the store and on a model of the line, and compares the two.

use super::*;

/// The simplest form of a line. The store is compared with it.
#[derive(Default)]
struct Model {
    places: BTreeMap<u64, u64>,
    next: u64,
    left: BTreeSet<u64>,
    void: BTreeSet<u64>,
    frozen: Option<u64>,
}

pub(super) async fn random_steps_follow_the_model_over_restarts(open: StoreOpener<'_>) {
    for seed in 0..4 {
        random_steps_follow_the_model(open, seed).await;
    }
}

async fn random_steps_follow_the_model(open: StoreOpener<'_>, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut model, mut pair) = (Model::default(), open(false).await);
    for step in 0..120 {
        let of = rng.random_range(0..25);
        match rng.random_range(0..20) {
            0 if step > 60 => {
                let n = freeze_line(pair.store.as_ref(), 0).await.n;
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
            (counts.next, counts.joined, counts.left),
            (model.next, model.next, model.left.len() as u64),
            "seed {seed} step {step}"
        );
    }
    pair.store.flush_to_ledger("r").await.unwrap();
    let leaves = pair.ledger.leaves("r", model.next).await.unwrap();
    for (number, leaf) in (0..).zip(leaves.as_chunks::<32>().0) {
        assert_eq!(
            *leaf == [0; 32],
            model.void.contains(&number),
            "number {number} of seed {seed}"
        );
    }
}
