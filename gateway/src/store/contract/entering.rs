//! Contract cases for the gate, which keeps entries at the pace.

use super::*;

/// The pace of these rooms, in visitors a second.
const PER_S: u64 = 12;

/// Builds the end of a tick that calls `called` and sets the pace of these rooms.
fn paced(since: i64, until: i64, called: std::ops::Range<u64>) -> TickEnd {
    TickEnd {
        rate_u: Some(PER_S * VISITOR_U),
        ..tick(since, until, called, &[])
    }
}

fn called(number: u64, now: i64) -> Claimant {
    Claimant {
        released: 1_000,
        max_inside: 1_000,
        ..claimant(number, now)
    }
}

pub(super) async fn after_a_silence_visitors_enter_at_the_pace_and_in_the_order_of_their_calls(
    Pair { store, .. }: Pair,
) {
    let people = 150;
    join_visitors(store.as_ref(), people).await;
    store
        .end_tick("r", paced(0, 1_000, 0..people))
        .await
        .unwrap();
    // Everybody asks after a minute of silence, the last rank first, and then whenever the answer
    // says.
    let mut asking: BTreeSet<(i64, u64)> = (0..people)
        .map(|number| (61_000 + (people - number) as i64, number))
        .collect();
    let mut entered = Vec::new();
    while let Some((now, number)) = asking.pop_first() {
        match store
            .admit_claimant("r", called(number, now))
            .await
            .unwrap()
        {
            AdmissionDecision::Let { .. } => entered.push((now, number)),
            AdmissionDecision::Wait {
                entry_in_ms: Some(ms),
            } => {
                asking.insert((now + ms.min(10_000) as i64, number));
            }
            other => panic!("{number} at {now}: {other:?}"),
        }
    }
    for (at, _) in &entered {
        let within = |other: &&(i64, u64)| (*at..*at + 10_000).contains(&other.0);
        let count = entered.iter().filter(within).count() as u64;
        assert!(count <= 11 * PER_S, "{count} in the ten seconds from {at}");
    }
    let (last, _) = entered[entered.len() - 1];
    let all_ms = (people * 1_000 / PER_S) as i64;
    assert!(last - 61_000 < all_ms + 500, "the last one at {last}");
    // Those who entered at once asked first. All others entered by rank.
    let waited: Vec<u64> = entered
        .iter()
        .filter(|(at, _)| *at > 62_000)
        .map(|(_, number)| *number)
        .collect();
    assert!(waited.is_sorted(), "{waited:?}");
}

pub(super) async fn a_visitor_who_does_not_ask_again_keeps_nobody_out(Pair { store, .. }: Pair) {
    join_visitors(store.as_ref(), 20).await;
    store.end_tick("r", paced(0, 1_000, 0..20)).await.unwrap();
    let ask = async |number, now| {
        store
            .admit_claimant("r", called(number, now))
            .await
            .unwrap()
    };
    for number in 8..20 {
        assert_eq!(
            ask(number, 1_500).await,
            AdmissionDecision::Let { first: true }
        );
    }
    let entry_in_ms = |decision| match decision {
        AdmissionDecision::Wait { entry_in_ms } => entry_in_ms,
        other => panic!("{other:?}"),
    };
    // One second of the pace has entered, and nearly one more visitor is left. Twelve visitors a
    // second enter from here on.
    assert_eq!(entry_in_ms(ask(3, 1_500).await), Some(1));
    assert_eq!(entry_in_ms(ask(7, 1_500).await), Some(84));
    let before_seven = entry_in_ms(ask(5, 1_500).await);
    assert_eq!(before_seven, Some(84));
    assert_eq!(entry_in_ms(ask(7, 1_500).await), Some(167));
    assert_eq!(figures(store.as_ref(), 1_600, &[]).await.asking, 3);
    assert_eq!(ask(5, 1_584).await, AdmissionDecision::Let { first: true });
    // Number 3 was told to ask again after 1 ms, and has not done so 2 s later.
    assert!(entry_in_ms(ask(7, 1_585).await).is_some());
    assert_eq!(ask(7, 3_501).await, AdmissionDecision::Let { first: true });
    assert_eq!(ask(3, 3_590).await, AdmissionDecision::Let { first: true });
}

pub(super) async fn a_pace_that_falls_counts_for_the_very_next_entry(Pair { store, .. }: Pair) {
    join_visitors(store.as_ref(), 20).await;
    store.end_tick("r", paced(0, 1_000, 0..20)).await.unwrap();
    let slow = TickEnd {
        rate_u: Some(VISITOR_U),
        ..tick(1_000, 2_000, 20..20, &[])
    };
    store.end_tick("r", slow).await.unwrap();
    let ask = async |number, now| {
        store
            .admit_claimant("r", called(number, now))
            .await
            .unwrap()
    };
    assert_eq!(ask(0, 2_100).await, AdmissionDecision::Let { first: true });
    let told = |ms| AdmissionDecision::Wait {
        entry_in_ms: Some(ms),
    };
    assert_eq!(ask(1, 2_100).await, told(1));
    assert_eq!(ask(1, 2_101).await, AdmissionDecision::Let { first: true });
    assert_eq!(ask(2, 2_101).await, told(1_000));
    let no_line = Claimant {
        line: false,
        ..called(2, 2_101)
    };
    let entered = store.admit_claimant("r", no_line).await.unwrap();
    assert_eq!(
        entered,
        AdmissionDecision::Let { first: true },
        "without a line there is no pace"
    );
}
