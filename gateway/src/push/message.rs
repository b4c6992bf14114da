//! The text frames of the live socket in both directions, as types.

use fairgate_base::clock::rfc3339;
use fairgate_rules::draw::record::DrawRecord;
use fairgate_rules::estimate::UnknownWait;
use fairgate_rules::waits::LineWaits;
use serde::{Deserialize, Serialize};

use super::frame::SharedFrame;
use crate::room::{RoomTick, RoomView};

/// A message from server to client.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LiveMessage<'a> {
    /// The room, in the shape of `GET /v1/rooms/{room}`.
    Room(&'a RoomView),
    /// The draw, in the shape of `GET …/draw`.
    Draw(&'a DrawRecord),
    /// The visitor's own place.
    Place {
        /// The join number.
        number: u64,
        /// The visitor's rank; null before the draw.
        rank: Option<u64>,
        /// The rank whose release calls the visitor; null before the draw.
        turn: Option<u64>,
        /// People ahead of the visitor; null before the draw.
        ahead: Option<u64>,
    },
    /// The figures of the line.
    Line {
        /// People who joined so far, including those who left.
        joined: u64,
        /// Ranks below this may claim a pass.
        released: u64,
        /// Visitors released a second.
        per_s: f64,
        /// People who are present and whose ranks are not released yet.
        waiting: u64,
        /// Seats of all shows.
        seats: LineSeats,
        /// The free seats of each entry of the room's prices.
        left: Vec<u64>,
        /// Milliseconds between two frames with seats for one watcher.
        seats_every_ms: u64,
        /// The waits by the number of people ahead.
        waits: FrameWaits,
        /// When the frame was made, RFC 3339.
        at: String,
    },
    /// The visitor may claim the pass now.
    Turn {
        /// The time by which the visitor is expected to claim, RFC 3339.
        claim_before: Option<String>,
    },
    /// Nobody does anything with the visitor's pass, so it ends soon.
    Idle {
        /// When the pass ends, RFC 3339; null if somebody did something.
        ends_at: Option<String>,
        /// In how many seconds the pass ends; null if somebody did something.
        ends_in_s: Option<u64>,
    },
    /// The visitor's pass ended before it ran out. The place is in the line again.
    PassEnded {
        /// Why: `idle` or `lapses`.
        cause: &'a str,
    },
    /// A change of the visitor's own hold.
    Hold {
        /// The hold's id.
        hold: &'a str,
        /// The hold's new state.
        state: &'a str,
        /// The hold's deadline, RFC 3339.
        expires_at: String,
    },
    /// The visitor's place has ended.
    Closed {
        /// Why the place has ended.
        reason: &'a str,
        /// What the promoter tells the visitor; left out if it is empty.
        #[serde(skip_serializing_if = "str::is_empty")]
        note: &'a str,
    },
    /// Freed seats that are held for a visitor on the waitlist. The visitor must order them before
    /// the hold expires.
    Offer {
        /// The show's slug.
        show: &'a str,
        /// The hold's id.
        hold: &'a str,
        /// The labels of the seats.
        seats: &'a [String],
        /// Until when the seats are held, RFC 3339.
        expires_at: String,
    },
}

/// The room's seats, as the `line` frame shows them.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct LineSeats {
    free: u64,
    held: u64,
    sold: u64,
    lapsing_5m: u64,
    baskets_5m: u64,
}

/// The waits of the line, as the `line` frame shows them. Each page reads its visitor's wait off
/// these points, and interpolates between them.
#[derive(Debug, Clone, Serialize)]
pub struct FrameWaits {
    /// The people ahead, the wait that half of the visitors in this position do not exceed, and the
    /// one that nine in ten do not exceed, in seconds.
    points: Vec<(u64, f64, f64)>,
    /// From so many people ahead on, hardly a seat will be left, and the wait is not known. Left
    /// out if there is no such number.
    #[serde(skip_serializing_if = "Option::is_none")]
    few_seats_from: Option<u64>,
    /// Why nobody's wait is known; null if waits are known.
    unknown: Option<UnknownWait>,
}

impl From<&LineWaits> for FrameWaits {
    fn from(waits: &LineWaits) -> Self {
        let tenths = |seconds: f64| (seconds * 10.0).round() / 10.0;
        let points = waits.points.iter();
        let points = points.map(|point| (point.ahead, tenths(point.p50_s), tenths(point.p90_s)));
        Self {
            points: points.collect(),
            few_seats_from: waits.few_seats_from,
            unknown: waits.unknown,
        }
    }
}

impl LiveMessage<'_> {
    /// The `closed` frame of a room that is sold out for now. It is the same for every visitor.
    pub const SOLD_OUT: &'static str = r#"{"type":"closed","reason":"sold_out"}"#;
    /// The `closed` frame of a room that has closed for good.
    pub const CLOSED: &'static str = r#"{"type":"closed","reason":"closed"}"#;

    /// Builds the `line` frame of a tick.
    #[must_use]
    pub fn line_of_tick(tick: &RoomTick, per_s: f64, seats_every_ms: u64, now: i64) -> Self {
        let pulse = &tick.pulse;
        Self::Line {
            joined: tick.counts.joined,
            released: tick.released,
            per_s,
            waiting: tick.waiting,
            seats: LineSeats {
                free: pulse.free,
                held: pulse.held,
                sold: pulse.sold,
                lapsing_5m: pulse.lapsing_5m,
                baskets_5m: pulse.baskets_5m,
            },
            left: pulse.prices.iter().map(|tier| tier.free).collect(),
            seats_every_ms,
            waits: FrameWaits::from(&*tick.waits),
            at: rfc3339(now),
        }
    }
}

/// Encodes a message once, for any number of sockets.
#[must_use]
pub fn encode(message: &LiveMessage<'_>) -> SharedFrame {
    SharedFrame::text(json(message))
}

fn json(message: &LiveMessage<'_>) -> String {
    serde_json::to_string(message)
        .expect("messages are plain structs with string keys, which always serialise")
}

/// A message from client to server. Any other message closes the socket.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum LiveRequest {
    /// Asks for a snapshot and then the deltas of one show. A socket watches one show at a time.
    Watch {
        /// The show's slug.
        show: String,
    },
    /// Stops the deltas.
    Unwatch {},
    /// Asks for a fresh snapshot.
    Resync {},
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&LiveRequest>) {
        assert_eq!(
            serde_json::from_str::<LiveRequest>(text).ok().as_ref(),
            expected,
            "{text}"
        );
    }

    #[test]
    fn only_watch_unwatch_and_resync_are_requests() {
        check(
            r#"{"type":"watch","show":"n-1"}"#,
            Some(&LiveRequest::Watch { show: "n-1".into() }),
        );
        check(r#"{"type":"unwatch"}"#, Some(&LiveRequest::Unwatch {}));
        check(r#"{"type":"resync"}"#, Some(&LiveRequest::Resync {}));
        for bad in [
            r#"{"type":"watch"}"#,
            r#"{"type":"resync","x":1}"#,
            r#"{"type":"shout"}"#,
            "[]",
            "watch",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn a_line_frame_has_the_contracts_fields() {
        let text = json(&LiveMessage::line_of_tick(
            &RoomTick::default(),
            0.5,
            250,
            0,
        ));
        assert_eq!(
            text.as_str(),
            r#"{"type":"line","joined":0,"released":0,"per_s":0.5,"waiting":0,"seats":{"free":0,"held":0,"sold":0,"lapsing_5m":0,"baskets_5m":0},"left":[],"seats_every_ms":250,"waits":{"points":[],"unknown":"no_figures"},"at":"1970-01-01T00:00:00Z"}"#
        );
    }

    fn golden(name: &str) -> serde_json::Value {
        let path = format!(
            "{}/../waitroom-ui/wire/{name}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(path).expect("the golden message");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Checks that a message has every field of the golden message. Additional fields are allowed.
    fn check_golden(name: &str, message: &LiveMessage<'_>) {
        let golden = golden(name);
        let ours: serde_json::Value = serde_json::from_str(&json(message)).expect("JSON");
        let missing: Vec<_> = golden
            .as_object()
            .expect("an object")
            .keys()
            .filter(|key| ours.get(key.as_str()).is_none())
            .collect();
        assert!(missing.is_empty(), "{missing:?} missing in {ours}");
        assert_eq!(ours["type"], golden["type"]);
    }

    #[test]
    fn the_closed_frames_equal_the_golden_messages() {
        for (name, ours) in [
            ("closed", LiveMessage::CLOSED),
            ("closed-sold-out", LiveMessage::SOLD_OUT),
        ] {
            let ours: serde_json::Value = serde_json::from_str(ours).expect("JSON");
            assert_eq!(ours, golden(name));
        }
        let revoked = LiveMessage::Closed {
            reason: "revoked",
            note: "resold on another site",
        };
        let ours: serde_json::Value = serde_json::from_str(&json(&revoked)).expect("JSON");
        assert_eq!(ours, golden("closed-revoked"));
    }

    #[test]
    fn messages_have_the_fields_that_the_pages_read() {
        check_golden(
            "line",
            &LiveMessage::line_of_tick(&RoomTick::default(), 1.0, 250, 0),
        );
        check_golden(
            "place",
            &LiveMessage::Place {
                number: 1,
                rank: Some(0),
                turn: Some(0),
                ahead: Some(0),
            },
        );
        check_golden("turn", &LiveMessage::Turn { claim_before: None });
        check_golden(
            "hold",
            &LiveMessage::Hold {
                hold: "hold_x",
                state: "held",
                expires_at: String::new(),
            },
        );
        check_golden(
            "offer",
            &LiveMessage::Offer {
                show: "night-1",
                hold: "hold_x",
                seats: &[],
                expires_at: String::new(),
            },
        );
        let record = DrawRecord::announced("demo", fairgate_pass::Digest([0; 32]));
        check_golden("draw-frozen", &LiveMessage::Draw(&record));
    }
}
