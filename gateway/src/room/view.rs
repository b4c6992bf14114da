//! A room as everybody sees it: one document for the call, the socket and the page.

use fairgate_base::clock::rfc3339;
use fairgate_rules::phase::RoomPhase;
use fairgate_rules::room_document::{ChallengePolicy, JoinCodePolicy, LineMethod};
use serde::Serialize;

use super::{Room, RoomRegistry};
use crate::upstream::PriceTier;

/// Seats of all the room's shows together.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
pub struct SeatCounts {
    /// Free.
    pub free: u64,
    /// Held.
    pub held: u64,
    /// Sold.
    pub sold: u64,
}

/// What a visitor may rely on, in this room.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
#[schema(as = Trust)]
pub struct RoomTrust {
    /// `verifiable`: the draw can be checked by anyone; `none`: there is no draw.
    pub draw: &'static str,
    /// Public randomness that nobody could choose: `none` or `drand`.
    pub beacon: &'static str,
    /// What a place is bound to.
    pub binding: &'static str,
    /// What a join must solve.
    pub challenge: ChallengePolicy,
    /// Whether a code is asked for.
    pub codes: JoinCodePolicy,
}

/// `GET /v1/rooms/{room}`, and the `room` frame.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct RoomView {
    /// The slug.
    pub room: String,
    /// The name that people read.
    pub title: String,
    /// The phase of the room.
    pub phase: RoomPhase,
    /// Whether nobody is released for now.
    pub paused: bool,
    /// Whether the sale is closed because the ledger went back to an older state, until somebody
    /// has compared the records and reopens it. `paused` is true then, too. Left out if false, and
    /// in phases in which nothing would be sold.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub closed_for_check: bool,
    /// RFC 3339.
    pub opens_at: String,
    /// RFC 3339.
    pub draw_at: String,
    /// RFC 3339, or null.
    pub closes_at: Option<String>,
    /// People who joined so far, including those who left.
    pub joined: u64,
    /// Places that the promoter ended. They are counted in `joined`.
    pub revoked: u64,
    /// People who are present and whose ranks are not released yet.
    pub waiting: u64,
    /// Ranks below this may claim a pass.
    pub released: u64,
    /// Visitors released a second.
    pub per_s: f64,
    /// The hash that commits to the draw's secret, hex.
    #[schema(value_type = String)]
    pub commitment: fairgate_pass::Digest,
    /// A message from the promoter.
    pub message: String,
    /// What a visitor may rely on.
    pub trust: RoomTrust,
    /// Seats of all shows of the room.
    pub seats: SeatCounts,
    /// The price and the number of free seats of each category, over all shows of the room. The
    /// cheapest come first, at most 12. Empty for trains.
    pub prices: Vec<PriceTier>,
    /// How the order of the line is made.
    pub method: LineMethod,
    /// Whether a code is asked for.
    pub codes: JoinCodePolicy,
    /// The shows, as the promoter named them.
    pub shows: Vec<String>,
    /// The time, RFC 3339, until which a due draw waits, because the line's store has just lost its
    /// data. Until then, visitors can show the store their lost places again. Left out at all other
    /// times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draw_waits_until: Option<String>,
}

impl RoomView {
    /// Builds the view of the room now, with visitors who joined since the last tick. This asks the
    /// store, so it is only for answers to one client.
    pub async fn fresh(rooms: &RoomRegistry, room: &Room) -> Self {
        let now = rooms.now_ms();
        let counts = rooms.store().counts(room.id(), now.div_euclid(1000)).await;
        let mut view = Self::from_last_tick(room, now);
        // If the store does not answer, the view is that of the last tick.
        if let Ok(counts) = counts {
            // Visitors who joined after the tick have later numbers than everybody whom the tick
            // counted. They are therefore waiting, too.
            view.waiting += counts.joined.saturating_sub(view.joined);
            view.joined = counts.joined;
        }
        view
    }

    /// Builds the view at `now` (ms) from the last tick. This is for shared frames, which must not
    /// wait for the store.
    #[must_use]
    pub fn from_last_tick(room: &Room, now: i64) -> Self {
        let (row, tick) = (room.row(), room.last_tick());
        let document = &row.document;
        let phase = room.phase(now);
        Self {
            room: room.id().to_owned(),
            title: document.title.clone(),
            phase,
            paused: room.lets_nobody_in(),
            closed_for_check: tick.pulse.closed
                && matches!(phase, RoomPhase::Selling | RoomPhase::SoldOut),
            opens_at: rfc3339(document.opens_at),
            // If the draw was brought forward by hand, its real time is shown.
            draw_at: rfc3339(
                row.facts
                    .draw_called_at
                    .map_or(document.draw_at, |called| called.min(document.draw_at)),
            ),
            closes_at: document.closes_at.map(rfc3339),
            joined: tick.counts.joined,
            revoked: room.stops().revoked_count(),
            waiting: tick.waiting,
            released: tick.released,
            per_s: room.pace_per_s(),
            commitment: room.commitment(),
            message: document.message.clone(),
            trust: RoomTrust {
                draw: if document.method == LineMethod::Draw {
                    "verifiable"
                } else {
                    "none"
                },
                beacon: "none",
                binding: "cookie",
                challenge: document.challenge,
                codes: document.codes,
            },
            seats: SeatCounts {
                free: tick.pulse.free,
                held: tick.pulse.held,
                sold: tick.pulse.sold,
            },
            prices: tick.pulse.prices.clone(),
            method: document.method,
            codes: document.codes,
            shows: document.shows.clone(),
            draw_waits_until: room.draw_waits_until().map(rfc3339),
        }
    }
}
