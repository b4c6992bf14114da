//! Builds a promoter's documents with defaults that a test can change.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Returns the time this many seconds from now, in RFC 3339.
pub fn in_seconds(seconds: i64) -> String {
    (Timestamp::now() + SignedDuration::from_secs(seconds)).to_string()
}

/// Returns a room document for `show`, with an open lobby and a draw an hour from now. `changes`
/// replace fields.
pub fn room(show: &str, changes: Value) -> Value {
    let document = json!({
        "title": "A night to test",
        "shows": [show],
        "opens_at": in_seconds(-60),
        "draw_at": in_seconds(3_600),
        "closes_at": in_seconds(12 * 3_600),
        "method": "draw",
        "mode": "fixed",
        "per_s": 1_000,
        "max_inside": 5_000,
    });
    merged(document, changes)
}

/// Returns a show document with prices for a grid's two price bands. `changes` replace fields.
pub fn show(venue: &str, changes: Value) -> Value {
    let document = json!({
        "venue": venue,
        "title": "A night to test",
        "starts_at": "2031-06-01T20:00:00+02:00",
        "prices": {"cat1": 9_900, "cat2": 4_900},
        "orphans": "allow",
    });
    merged(document, changes)
}

fn merged(mut document: Value, changes: Value) -> Value {
    if let (Value::Object(document), Value::Object(changes)) = (&mut document, changes) {
        document.extend(changes);
    }
    document
}
