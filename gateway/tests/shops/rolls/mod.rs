//! Restarts and kills gateways behind the samples of proxies, under a crowd of visitors who behave
//! as browsers do. `FAIRGATE_ROLL=500,8,30` plays the long form: 500 visitors with sockets, and
//! pauses of 8 and 30 seconds between the restarts of the two gateways.

mod crowd;
mod notice;
mod record;
mod site;

use std::time::{Duration, Instant};

use fairgate_servers::{FrontProxyKind, must_skip};
use reqwest::Method;
use tokio::time::sleep;

use crate::proxy_visitor::{ProxyVisitor, ROOM, SALE};
use crowd::Crowd;
use record::CallRecord;
use site::RollSite;

/// The longest time that a visitor may be without an answer.
const UNANSWERED_MAX: Duration = Duration::from_secs(5);
/// The longest time that a visitor may be without a socket.
const SOCKETLESS_MAX: Duration = Duration::from_secs(10);
/// From this time after the death of a gateway on, no call may fail.
const FAILURES_MAX: Duration = Duration::from_secs(3);
/// The pause between two looks at the room while the database is silent.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// How many people without sockets join and look at the room at a time.
const PASSERS_BY: u16 = 10;
/// How long the crowd is watched after the death of a gateway.
const WATCHED: Duration = Duration::from_secs(10);
/// The longest time until all visitors have a socket again, on a slow machine.
const BACK_WITHIN: Duration = Duration::from_secs(30);

/// How many visitors there are, and how long the second gateway still runs after the first one is
/// ready again.
struct Roll {
    visitors: u16,
    pauses: Vec<Duration>,
}

impl Roll {
    /// Reads `FAIRGATE_ROLL`, or returns the short form.
    fn of_environment() -> Self {
        let text = std::env::var("FAIRGATE_ROLL").unwrap_or_else(|_| "60,1".to_owned());
        let mut numbers = text.split(',').map(|number| {
            let number = number.trim().parse::<u16>();
            number.expect("FAIRGATE_ROLL: visitors, and the seconds of each pause")
        });
        let visitors = numbers.next().expect("a number of visitors");
        Self {
            visitors,
            pauses: numbers.map(|s| Duration::from_secs(s.into())).collect(),
        }
    }
}

async fn nobody_is_left_behind(kind: FrontProxyKind) {
    let name = kind.program();
    let what = format!("gateways restarted behind {name}");
    if must_skip(&what) || kind.must_skip(&what) {
        return;
    }
    let roll = Roll::of_environment();
    let site = RollSite::behind(kind).await;
    let mut crowd = Crowd::enter(site.port, roll.visitors).await;
    crowd.let_pass_by(site.port, PASSERS_BY);
    for pause in &roll.pauses {
        site.restart(0).await;
        sleep(*pause).await;
        site.restart(1).await;
        crowd.until_back(BACK_WITHIN).await;
    }
    judge_waits(&crowd, name);
    judge_calls(&crowd.calls.take(), name, "two restarts");

    let killed_at = site.kill(0).await;
    sleep(WATCHED).await;
    crowd.until_back(BACK_WITHIN).await;
    judge_waits(&crowd, name);
    let after: Vec<CallRecord> = crowd.calls.take();
    judge_calls(&after, name, "a death");
    let late = after
        .iter()
        .find(|call| call.failure.is_some() && call.asked_at > killed_at + FAILURES_MAX);
    assert!(
        late.is_none(),
        "{name}: after the death of a gateway: {late:?}"
    );

    // Every visitor has one place. A join that was answered was carried out once, and one that was
    // not answered was carried out at most once.
    let passed_by = crowd.leave().await;
    let places = u64::from(roll.visitors) + passed_by.joined;
    let joined = site.joined(1, places).await;
    let most = places + passed_by.unanswered;
    assert!(
        (places..=most).contains(&joined),
        "{name}: {joined} joined, of {places} to {most}"
    );

    site.without_database(the_lobby_is_served(site.port, name))
        .await;
}

/// Checks that every call of a visitor is answered from memory for a while. The gateways answer
/// `/readyz` slowly without their database, and the proxy must not take them for dead.
async fn the_lobby_is_served(port: u16, name: &str) {
    let visitor = ProxyVisitor::new(port, 0);
    let until = Instant::now() + WATCHED;
    while Instant::now() < until {
        let answer = visitor.ask(visitor.request(Method::GET, SALE, ROOM)).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        sleep(BETWEEN_LOOKS).await;
    }
}

/// Checks how long each visitor was without an answer and without a socket, and that every place is
/// the visitor's own.
fn judge_waits(crowd: &Crowd, name: &str) {
    let records = || crowd.records.iter().map(|record| record.lock());
    let unanswered = records().map(|record| record.longest_unanswered).max();
    let socketless = records().map(|record| record.longest_socketless).max();
    let (unanswered, socketless) = (
        unanswered.unwrap_or_default(),
        socketless.unwrap_or_default(),
    );
    eprintln!(
        "FIGURE {name}: {} sockets, at most {:.1} s without an answer, {:.1} s without a socket",
        crowd.records.len(),
        unanswered.as_secs_f64(),
        socketless.as_secs_f64()
    );
    assert!(
        unanswered <= UNANSWERED_MAX,
        "{name}: nobody answered for {unanswered:?}"
    );
    assert!(
        socketless <= SOCKETLESS_MAX,
        "{name}: no socket for {socketless:?}"
    );
    let lost: Vec<String> = records()
        .flat_map(|record| record.other_numbers.clone())
        .collect();
    assert!(
        lost.is_empty(),
        "{name}: {} places are lost: {}",
        lost.len(),
        lost[0]
    );
}

/// Checks that at most one call in a hundred failed.
fn judge_calls(calls: &[CallRecord], name: &str, during: &str) {
    let failures = || calls.iter().filter_map(|call| call.failure.as_ref());
    let slowest = calls.iter().map(|call| call.took).max().unwrap_or_default();
    let failed = failures().count();
    eprintln!(
        "FIGURE {name}: {failed} of {} calls failed during {during}, the slowest took {:.2} s",
        calls.len(),
        slowest.as_secs_f64()
    );
    assert!(!calls.is_empty());
    assert!(
        failed * 100 <= calls.len(),
        "{name}: {during}: {:?}",
        failures().collect::<Vec<_>>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn restarts_and_a_death_behind_nginx_leave_nobody_behind() {
    nobody_is_left_behind(FrontProxyKind::Nginx).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restarts_and_a_death_behind_haproxy_leave_nobody_behind() {
    nobody_is_left_behind(FrontProxyKind::HaProxy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restarts_and_a_death_behind_caddy_leave_nobody_behind() {
    nobody_is_left_behind(FrontProxyKind::Caddy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restarts_and_a_death_behind_envoy_leave_nobody_behind() {
    nobody_is_left_behind(FrontProxyKind::Envoy).await;
}
