//! Lists the changes that the self-test plants about the people ahead. The visitor who joined last
//! is told at 12.1 s that three people are ahead, and gets its pass at 21.2 s.

use serde_json::json;

use super::clean::{SelfTestRun, at};
use super::plants::plants;

/// The visitor who joined last.
const LAST: u64 = 9;
/// The number and the rank of this visitor.
const NUMBER: u64 = 10;

/// Lets the visitor read that so many people are ahead.
fn reads(run: &mut SelfTestRun, s: f64, ahead: u64) {
    let place = json!({ "number": NUMBER, "rank": NUMBER, "ahead": ahead, "state": "waiting" });
    run.call(LAST, "place", s, 200, place);
}

/// Sends the visitor a frame that so many people are ahead.
fn is_told(run: &mut SelfTestRun, s: f64, ahead: u64) {
    run.history.push(json!({
        "kind": "frame", "at_ms": at(s), "visitor": LAST, "type": "place", "number": NUMBER, "rank": NUMBER, "ahead": ahead,
    }));
}

plants! {
    Ahead "a visitor reads that more people are ahead than a frame said" |run| reads(run, 14.5, 4);
    Ahead "a frame says that more people are ahead than the visitor read" |run| {
        reads(run, 14.0, 1);
        is_told(run, 18.0, 2);
    };
    Ahead "more people are ahead than long ago, and fewer than just now" |run| {
        reads(run, 14.0, 2);
        reads(run, 14.5, 3);
        reads(run, 17.0, 3);
    };
    Nothing "odd, but right: fewer people are ahead at each reading" |run| {
        reads(run, 14.0, 3);
        reads(run, 16.0, 1);
        is_told(run, 18.0, 0);
    };
    Nothing "odd, but right: the next gateway learns a moment later that somebody went away" |run| reads(run, 13.0, 4);
    Nothing "odd, but right: a visitor waits again behind others when its pass has ended" |run| reads(run, 30.0, 5);
    Nothing "odd, but right: a visitor asked, and more people were ahead when it may have had a pass" |run| {
        run.call(LAST, "claim", 13.0, None, json!({ "exp_ms": null, "rank": NUMBER }));
        reads(run, 16.0, 4);
    };
}
