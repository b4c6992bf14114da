//! Tests the waits that replace work for browsers without scripts.

use fairgate_base::clock::Clock;
use fairgate_pass::VOID;
use gateway::challenge::ChallengeRefusal;
use gateway::line::{NetworkRefusal, TollFor, TollPayer};
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::json;

use crate::actors::behind_a_proxy;
use crate::support::node::Node;
use crate::support::{Gateway, TestAnswer};

#[tokio::test(flavor = "multi_thread")]
async fn a_form_without_scripts_waits_in_place_of_work() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = behind_a_proxy(&data, json!({"per_network": {"soft": 0, "hard": 8}})).await;
    let form = async |ticket: &str| {
        let request = gateway
            .client
            .post(gateway.url("/r/demo/join"))
            .header("cookie", "fgc_ok=1")
            .header("x-forwarded-for", "192.0.2.7")
            .header("accept", "text/html")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("wait={ticket}"));
        Gateway::read(request).await
    };
    let ticket_of = |page: &TestAnswer| {
        let text = page.text();
        let from = text
            .split("name=\"wait\" value=\"")
            .nth(1)
            .expect("a ticket");
        from.split('"').next().expect("its end").to_owned()
    };
    let waits = form("").await;
    assert_eq!(waits.status, 403);
    assert!(waits.text().contains("Wait 15 seconds"), "{}", waits.text());
    let ticket = ticket_of(&waits);
    let early = form(&ticket).await;
    assert_eq!(early.status, 403);
    assert_eq!(ticket_of(&early), ticket, "the same wait goes on");
    let second = form("").await;
    let text = second.text();
    assert!(
        text.contains("Wait 30 seconds") || text.contains("Wait 29 seconds"),
        "the second visitor waits after the first: {text}"
    );
    let forged = form("wait.e30.00").await;
    assert_eq!(forged.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_are_bounded_for_an_address_and_for_all_around_it() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = behind_a_proxy(&data, json!({"per_network": {"soft": 0, "hard": 8}})).await;
    let form = async |last: u8| {
        let request = gateway
            .client
            .post(gateway.url("/r/demo/join"))
            .header("cookie", "fgc_ok=1")
            .header("x-forwarded-for", format!("192.0.2.{last}"))
            .header("accept", "text/html");
        Gateway::read(request).await
    };
    // One address may begin four waits at once.
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(form(1).await.status);
    }
    assert_eq!(statuses, [403, 403, 403, 403, 429]);
    // The addresses of one /24 share a queue of at most five minutes, which is 20 waits.
    let mut begun = 4;
    let full = loop {
        let answer = form(10 + begun).await;
        if answer.status != 403 {
            break answer;
        }
        begun += 1;
    };
    assert!((20..=22).contains(&begun), "{begun}");
    assert_eq!(full.status, 429);
    let text = full.text();
    assert!(text.contains("The queue of your network is full"), "{text}");
    assert!(
        !text.contains("name=\"wait\""),
        "nobody keeps a turn: {text}"
    );
    let again = form(200).await;
    assert_eq!(again.status, 429, "asking does not make it longer");
    let seconds = again.text();
    let seconds = seconds.split("Try again in ").nth(1).expect("a time");
    let seconds: u32 = seconds
        .split(' ')
        .next()
        .and_then(|n| n.parse().ok())
        .expect("a number");
    assert!(seconds <= 15, "{seconds}");
}

#[tokio::test]
async fn a_wait_in_a_room_without_an_end_counts_beyond_midnight() {
    let data = tempfile::tempdir().expect("a folder");
    let clock = Clock::standing_at("2027-01-10T23:59:50Z".parse().expect("a moment"));
    let node = Node::start(data.path(), clock.clone()).await;
    let (line, room) = (&node.line, node.everyday());
    let (own, other) = ("192.0.2.7:5000", "192.0.2.8:5000");
    let rng = &mut StdRng::seed_from_u64(1);
    let begun = line.begin_wait(&room, node.network(own), clock.now_ms(), rng);
    let wait = begun.await.expect("a wait");
    assert_eq!(wait.ready_at, clock.now_ms() + 15_000, "on the next day");
    let toll = async |peer, now| {
        let payer = TollPayer {
            holder: VOID,
            solution: Some(&wait.ticket),
            network: node.network(peer),
        };
        line.toll(&room, TollFor::Join, payer, now).await
    };
    let early = toll(own, wait.ready_at - 1).await.map(drop);
    let ready_at = wait.ready_at;
    assert_eq!(early, Err(ChallengeRefusal::NotYet { ready_at }.into()));
    let paid = toll(own, ready_at).await.expect("it counts");
    assert!(paid.solved.is_some());
    let taken = toll(other, ready_at).await.map(drop);
    assert_eq!(
        taken,
        Err(NetworkRefusal::from(ChallengeRefusal::ForAnother))
    );
}
