//! What is kept beside orders: plans, shows, coverage, secrets, scans and answers.

use super::*;
use crate::ids::TicketId;
use crate::ledger::KeptAnswer;

pub(super) const CASES: &[Case] = cases![
    the_same_plan_again_is_the_same_version,
    shows_are_read_back_as_they_were_put,
    coverage_is_replaced_whole_and_keeps_its_order,
    a_secret_is_made_once,
    a_ticket_is_scanned_once,
    a_kept_answer_stays_the_first_and_belongs_to_its_caller,
    old_answers_are_forgotten,
];

async fn the_same_plan_again_is_the_same_version(ledger: Books) {
    let put = async |plan: &str, digest| {
        let version = ledger
            .put_venue(&venue(), plan.to_owned(), digest, NOW_MS)
            .await;
        version.expect("stored")
    };
    assert_eq!(ledger.newest_plan(&venue()).await.expect("readable"), None);
    assert_eq!(put("one", [1; 32]).await, 1);
    assert_eq!(put("one", [1; 32]).await, 1);
    assert_eq!(put("two", [2; 32]).await, 2);
    assert_eq!(put("one", [1; 32]).await, 3, "an old plan may come back");
    assert_eq!(
        ledger.newest_plan(&venue()).await.expect("readable"),
        Some(3)
    );
    for (version, plan) in [
        (1, Some("one")),
        (2, Some("two")),
        (3, Some("one")),
        (4, None),
    ] {
        let read = ledger.plan(&venue(), version).await.expect("readable");
        assert_eq!(read.as_deref(), plan, "version {version}");
    }
}

async fn shows_are_read_back_as_they_were_put(ledger: Books) {
    assert!(ledger.shows().await.expect("readable").is_empty());
    stocked(&ledger).await;
    let shows = ledger.shows().await.expect("readable");
    let expected = stored(1);
    assert_eq!(shows.len(), 1);
    assert_eq!(
        (&shows[0].id, &shows[0].document, shows[0].plan_version),
        (&expected.id, &expected.document, 1)
    );
}

async fn coverage_is_replaced_whole_and_keeps_its_order(ledger: Books) {
    let of = |rooms: &[(&str, &[&str])]| -> Vec<(String, Vec<String>)> {
        let owned = |patterns: &[&str]| patterns.iter().map(|p| (*p).to_owned()).collect();
        rooms
            .iter()
            .map(|(room, patterns)| ((*room).to_owned(), owned(patterns)))
            .collect()
    };
    for coverage in [
        of(&[("z", &["night-2", "night-1"]), ("a", &["film-*"])]),
        of(&[("b", &["*"])]),
        of(&[]),
    ] {
        ledger
            .put_coverage(coverage.clone())
            .await
            .expect("written");
        assert_eq!(ledger.coverage().await.expect("readable"), coverage);
    }
}

async fn a_secret_is_made_once(ledger: Books) {
    let secret = async |name, fresh| ledger.secret(name, fresh).await.expect("stored");
    assert_eq!(secret("one", [1; 32]).await, [1; 32]);
    assert_eq!(secret("one", [9; 32]).await, [1; 32]);
    assert_eq!(secret("two", [2; 32]).await, [2; 32]);
}

async fn a_ticket_is_scanned_once(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0, 1]).await;
    let ticket = TicketId::of_seat(&order.id, 0);
    let scan = async |now_ms| ledger.scan(&ticket, now_ms).await.expect("written");
    assert_eq!(scan(1).await, None, "there is no ticket before the capture");
    authorised(&ledger, &order).await;
    let capture = ledger.due_effects(i64::MAX, 1).await.expect("readable");
    ledger
        .captured(capture[0].id, NOW_MS)
        .await
        .expect("written");
    assert_eq!(scan(10).await, Some((10, true)));
    assert_eq!(scan(20).await, Some((10, false)));
    let tickets = record(&ledger, &order).await.tickets;
    let scanned: Vec<Option<i64>> = tickets.iter().map(|t| t.scanned_at_ms).collect();
    assert_eq!(scanned, [Some(10), None], "the other one still opens");
}

fn answer(status: u16) -> KeptAnswer {
    KeptAnswer {
        asked: [5; 32],
        status,
        body: r#"{"a":1}"#.to_owned(),
    }
}

async fn a_kept_answer_stays_the_first_and_belongs_to_its_caller(ledger: Books) {
    let kept = async |caller, key: &str| {
        let kept = ledger.kept(caller, key.to_owned()).await;
        kept.expect("readable")
    };
    assert_eq!(kept([1; 32], "k").await, None);
    for status in [201, 409] {
        let written = ledger.keep([1; 32], "k".to_owned(), answer(status), NOW_MS);
        written.await.expect("written");
    }
    assert_eq!(kept([1; 32], "k").await, Some(answer(201)));
    assert_eq!(kept([2; 32], "k").await, None);
    assert_eq!(kept([1; 32], "l").await, None);
}

async fn old_answers_are_forgotten(ledger: Books) {
    for (key, at) in [("old", NOW_MS - 1), ("new", NOW_MS)] {
        let written = ledger.keep([1; 32], key.to_owned(), answer(201), at);
        written.await.expect("written");
    }
    ledger.forget_answers(NOW_MS).await.expect("written");
    let kept = async |key: &str| {
        let kept = ledger.kept([1; 32], key.to_owned()).await;
        kept.expect("readable").is_some()
    };
    assert!(!kept("old").await);
    assert!(kept("new").await);
}
