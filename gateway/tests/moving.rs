//! Tests how long a code can bring a place to another device. The test sets the time of each call.

mod support;

use fairgate_base::clock::Clock;
use fairgate_base::http::{Problem, ProblemCode};
use gateway::line::{JoinBody, JoinOutcome, JoinRefusal};

use support::node::Node;

/// The moment at which Ana's code is made.
const MADE: &str = "2027-01-10T09:00:00Z";

/// Joins the built-in room from a device that has no place.
async fn join(node: &Node, code: Option<&str>, now: i64) -> Result<JoinOutcome, JoinRefusal> {
    let network = node.network("192.0.2.7:5000");
    let body = JoinBody {
        moved: code.map(str::to_owned),
        ..JoinBody::default()
    };
    let room = node.everyday();
    node.line.join(&room, None, &body, network, now).await
}

#[tokio::test]
async fn a_code_brings_its_place_until_five_minutes_are_over_and_nothing_from_then_on() {
    let data = tempfile::tempdir().expect("a folder");
    let clock = Clock::standing_at(MADE.parse().expect("a moment"));
    let node = Node::start(data.path(), clock.clone()).await;
    let made_ms = clock.now_ms();
    let ana = join(&node, None, made_ms).await.expect("a place").place;
    let room = node.everyday();
    let issued = node.line.issue_move(&room, &ana, made_ms).expect("a code");
    let over_ms = made_ms + 5 * 60_000;
    assert_eq!(issued.expires_at_ms, over_ms);

    for late_ms in [over_ms, over_ms + 1, over_ms + 86_400_000] {
        let refused = join(&node, Some(&issued.code), late_ms).await;
        let told = Problem::from(refused.expect_err("its time is over"));
        assert_eq!(told.code, ProblemCode::CodeInvalid);
        assert_eq!(told.extra["field"], "move");
        assert!(told.detail.contains("has expired"), "{}", told.detail);
    }
    // The late tries have not used the code up: a node whose clock is behind still accepts it.
    let brought = join(&node, Some(&issued.code), over_ms - 1).await;
    let place = brought.expect("in time").place;
    assert_eq!((place.number, place.holder), (ana.number, ana.holder));
    let again = join(&node, Some(&issued.code), over_ms - 1).await;
    let told = Problem::from(again.expect_err("it counts once"));
    assert_eq!(told.code, ProblemCode::CodeUsed);
}
