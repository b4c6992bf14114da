//! Tests that codes cannot be guessed from many networks, that right codes are answered meanwhile,
//! and that a promoter learns how well a list withstands guessing.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::harness::{Promoter, Server, TestAnswer, coming_back, until};

/// So many guesses are made at once.
const GUESSERS: u64 = 60;
/// So many visitors join with their codes while others guess.
const VISITORS: u64 = 12;
/// A right code is answered within this time, although others guess.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

async fn join_from(server: &Server, address: &str, code: &str) -> TestAnswer {
    let join = server.http.post(server.at("/v1/rooms/sale/places"));
    let join = join.header("x-forwarded-for", address);
    let answer = TestAnswer::of(join.json(&json!({ "code": code }))).await;
    answer.expect("an answer")
}

fn right_code(of: u64) -> String {
    format!("RIGHT-{of:03}")
}

async fn room_with_codes(settings: &[(&str, &str)]) -> Server {
    let server = Server::with(settings).await;
    let promoter = Promoter::of(&server);
    let required = json!({"codes": "required"});
    promoter.on_sale("4x10", json!({}), required).await;
    let codes: Vec<_> = (0..100).map(right_code).collect();
    let put = promoter
        .put_text("rooms/sale/codes", codes.join("\n"))
        .await;
    assert_eq!(put.is(200)["codes"], 100);
    server
}

/// Returns the warnings about wrong codes that an operator reads.
async fn warnings(server: &Server) -> Vec<Value> {
    let ready = server.ready_as_operator().await.is(200);
    let warnings = ready["warnings"].as_array().expect("warnings").iter();
    let about_codes = |told: &&Value| told.to_string().contains("wrong codes");
    warnings.filter(about_codes).cloned().collect()
}

/// Counts the answers to guesses.
#[derive(Default)]
struct Guesses {
    sent: AtomicU64,
    looked_at: AtomicU64,
    unread: AtomicU64,
    is_over: AtomicBool,
}

impl Guesses {
    /// Guesses until it is over, each time another code from another /64.
    async fn go_on(&self, server: &Server) {
        while !self.is_over.load(Ordering::Relaxed) {
            let of = self.sent.fetch_add(1, Ordering::Relaxed);
            let address = format!("2001:db8:{:x}:{of:x}::1", of % 50);
            let answer = join_from(server, &address, &format!("guess-{of:06}")).await;
            let counted = match answer.refusal() {
                (403, code) if code == "code_invalid" => &self.looked_at,
                (429, code) if code == "too_many_joins" => &self.unread,
                other => panic!("{other:?}"),
            };
            counted.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guessers_get_two_verdicts_a_second_and_right_codes_are_answered_meanwhile() {
    let server = room_with_codes(&[("FAIRGATE_TRUSTED_HOPS", "1")]).await;
    assert_eq!(warnings(&server).await, [json!(null); 0]);
    let (guesses, begun) = (Guesses::default(), Instant::now());
    let guessing = join_all((0..GUESSERS).map(|_| guesses.go_on(&server)));
    let visiting = async {
        until("the budget is used up", async || {
            (guesses.unread.load(Ordering::Relaxed) > 0).then_some(())
        })
        .await;
        let mut longest = Duration::ZERO;
        for of in 0..VISITORS {
            let asked = Instant::now();
            let address = format!("198.51.100.{of}");
            let code = right_code(of);
            let joined = coming_back(async || join_from(&server, &address, &code).await);
            joined.await.is(201);
            longest = longest.max(asked.elapsed());
        }
        // Somebody in a network that others guess from waits longer, and is answered, too.
        let asked = Instant::now();
        let (address, code) = ("2001:db8:7:ffff::1", right_code(90));
        let joined = coming_back(async || join_from(&server, address, &code).await);
        joined.await.is(201);
        let near = asked.elapsed();
        let warned = warnings(&server).await;
        guesses.is_over.store(true, Ordering::Relaxed);
        (longest, near, warned)
    };
    let (_, (longest, near, warned)) = tokio::join!(guessing, visiting);
    let (took_s, looked_at) = (
        begun.elapsed().as_secs_f64(),
        guesses.looked_at.load(Ordering::Relaxed),
    );
    eprintln!(
        "FIGURE {looked_at} of {} guesses looked at in {took_s:.0} s; right codes answered within {} ms, and within {} ms beside the guessers",
        guesses.sent.load(Ordering::Relaxed),
        longest.as_millis(),
        near.as_millis()
    );
    assert!(
        looked_at as f64 <= 100.0 + 2.0 * took_s + 1.0,
        "{looked_at} in {took_s} s"
    );
    assert!(longest < ANSWERED_WITHIN, "{longest:?}");
    assert_eq!(warned.len(), 1, "{warned:?}");
    let told = warned[0].to_string();
    for words in ["\\\"sale\\\"", "in the last minute", "PUT"] {
        assert!(told.contains(words), "{words} is not in {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoter_learns_how_well_codes_withstand_guessing() {
    let server = room_with_codes(&[]).await;
    let promoter = Promoter::of(&server);
    let put = async |codes: Vec<String>| {
        let list = codes.join("\n");
        promoter.put_text("rooms/sale/codes", list).await
    };
    let weak = put((0..200).map(|of| format!("{of:04}")).collect()).await;
    let weak = weak.problem(422, "invalid_field");
    assert_eq!(
        (&weak["field"], &weak["withstands_bits"]),
        (&json!("codes"), &json!(5.6))
    );
    for words in [
        "codes of 4 digits",
        "Nothing was changed",
        "Put longer codes",
    ] {
        assert!(
            weak["detail"].to_string().contains(words),
            "{words}: {weak}"
        );
    }
    let kept = join_from(&server, "127.0.0.1", &right_code(0)).await;
    kept.is(201);

    let server = room_with_codes(&[]).await;
    let promoter = Promoter::of(&server);
    let put = async |codes: &[&str]| {
        let put = promoter.put_text("rooms/sale/codes", codes.join("\n"));
        put.await.is(200)
    };
    for middling in [
        &["FAN-001", "FAN-002"][..],
        &["SPRING-A"],
        &["123456", "654321"],
    ] {
        let told = put(middling).await;
        assert_eq!(told["codes"], middling.len());
        let warnings = told["warnings"].as_array().expect("warnings");
        assert_eq!(warnings.len(), 1, "{told}");
        assert!(
            warnings[0].to_string().contains("found much sooner"),
            "{told}"
        );
    }
    let strong = put(&["K7PQ-2M9X-TB", "9QWE-7RTY-UI"]).await;
    assert_eq!(
        (&strong["warnings"], &strong["withstands_bits"]),
        (&json!([]), &json!(50.7))
    );
    assert!(strong["guessing"].to_string().contains("years"), "{strong}");
}
