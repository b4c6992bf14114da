//! Works out the phase of a room from its document, the promoter's steps by hand, the draw, the
//! seats, and the time. The code is pure.

use serde::{Deserialize, Serialize};

use super::network_lists::NetworkLists;
use super::room_document::{LineMethod, RoomDocument};

/// The phase of a room, from its announcement to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Phase)]
pub enum RoomPhase {
    /// Not open yet.
    Scheduled,
    /// Visitors join, and nobody is let in yet. In a room with a draw, their numbers say nothing
    /// about their ranks.
    Prequeue,
    /// Frozen, waiting for the draw.
    Drawing,
    /// Letting people in.
    Selling,
    /// No seat is free or held any more. If seats come back, the room sells again.
    SoldOut,
    /// Over.
    Closed,
}

/// What the promoter did to a room by hand. It is stored with the room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoomFacts {
    /// When the room was opened by hand, in milliseconds since the epoch.
    pub opened_at: Option<i64>,
    /// When the draw was brought forward by hand, in milliseconds since the epoch.
    pub draw_called_at: Option<i64>,
    /// When the room was closed by hand, in milliseconds since the epoch.
    pub closed_at: Option<i64>,
    /// Whether the room is paused. While it is paused, nobody is released.
    pub paused: bool,
    /// The promoter has ended all places with numbers below this.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cleared_below: u64,
    /// What the promoter tells the visitors of those places.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cleared_note: String,
    /// The networks that may not join, and those that pay nothing. A stored room without this field
    /// has no such networks.
    #[serde(default, skip_serializing_if = "NetworkLists::is_empty")]
    pub networks: NetworkLists,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What is known about the draw and the seats when the phase is worked out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PhaseInputs {
    /// Whether the line is frozen.
    pub frozen: bool,
    /// Whether the line is drawn and this node has the ranks.
    pub drawn: bool,
    /// Whether every seat of the room's shows is sold or can no longer be bought.
    pub sold_out: bool,
}

/// Returns from when on (ms) a room is over, or `None` if it has no end. A room that was closed by
/// hand is over whatever a clock says, so 0 is returned for it.
#[must_use]
pub fn over_from_ms(document: &RoomDocument, facts: &RoomFacts) -> Option<i64> {
    facts.closed_at.map(|_| 0).or(document.closes_at)
}

/// Returns the phase at `now` (ms).
#[must_use]
pub fn phase_at(
    document: &RoomDocument,
    facts: &RoomFacts,
    inputs: PhaseInputs,
    now: i64,
) -> RoomPhase {
    if over_from_ms(document, facts).is_some_and(|over_from| now >= over_from) {
        return RoomPhase::Closed;
    }
    let line_begun = inputs.frozen || inputs.drawn;
    let open =
        facts.opened_at.is_some() || facts.draw_called_at.is_some() || now >= document.opens_at;
    if !open && !line_begun {
        return RoomPhase::Scheduled;
    }
    let selling = match document.method {
        LineMethod::Draw => {
            if inputs.frozen && !inputs.drawn {
                return RoomPhase::Drawing;
            }
            inputs.drawn
        }
        LineMethod::Fifo | LineMethod::Open => draw_due(document, facts, now),
    };
    match (selling, inputs.sold_out) {
        (false, _) => RoomPhase::Prequeue,
        (true, false) => RoomPhase::Selling,
        (true, true) => RoomPhase::SoldOut,
    }
}

/// Returns whether the time of the draw has come. In a room without a draw this is the time of the
/// sale.
#[must_use]
pub fn draw_due(document: &RoomDocument, facts: &RoomFacts, now: i64) -> bool {
    facts.draw_called_at.is_some() || now >= document.draw_at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        method: LineMethod,
        facts: &RoomFacts,
        known: PhaseInputs,
        now: i64,
        expected: RoomPhase,
    ) {
        let document = RoomDocument {
            method,
            opens_at: 10,
            draw_at: 20,
            closes_at: Some(30),
            ..RoomDocument::everyday()
        };
        assert_eq!(
            phase_at(&document, facts, known, now),
            expected,
            "{method:?} {facts:?} {known:?} at {now}"
        );
    }

    #[test]
    fn a_room_goes_from_scheduled_to_closed_by_the_clock_and_the_draw() {
        let (none, facts) = (PhaseInputs::default(), RoomFacts::default());
        let frozen = PhaseInputs {
            frozen: true,
            ..none
        };
        let drawn = PhaseInputs {
            drawn: true,
            ..frozen
        };
        check(LineMethod::Draw, &facts, none, 9, RoomPhase::Scheduled);
        check(LineMethod::Draw, &facts, none, 10, RoomPhase::Prequeue);
        check(LineMethod::Draw, &facts, none, 25, RoomPhase::Prequeue);
        check(LineMethod::Draw, &facts, frozen, 20, RoomPhase::Drawing);
        check(LineMethod::Draw, &facts, drawn, 20, RoomPhase::Selling);
        check(
            LineMethod::Draw,
            &facts,
            PhaseInputs {
                sold_out: true,
                ..drawn
            },
            21,
            RoomPhase::SoldOut,
        );
        check(LineMethod::Draw, &facts, drawn, 30, RoomPhase::Closed);
        check(LineMethod::Fifo, &facts, none, 19, RoomPhase::Prequeue);
        check(LineMethod::Fifo, &facts, none, 20, RoomPhase::Selling);
    }

    #[test]
    fn opening_drawing_and_closing_by_hand_bring_phases_forward() {
        let none = PhaseInputs::default();
        let opened = RoomFacts {
            opened_at: Some(1),
            ..RoomFacts::default()
        };
        check(LineMethod::Draw, &opened, none, 2, RoomPhase::Prequeue);
        let called = RoomFacts {
            draw_called_at: Some(3),
            ..RoomFacts::default()
        };
        check(LineMethod::Fifo, &called, none, 4, RoomPhase::Selling);
        check(
            LineMethod::Draw,
            &RoomFacts::default(),
            PhaseInputs {
                drawn: true,
                frozen: true,
                sold_out: false,
            },
            5,
            RoomPhase::Selling,
        );
        let closed = RoomFacts {
            closed_at: Some(5),
            ..RoomFacts::default()
        };
        check(LineMethod::Open, &closed, none, 6, RoomPhase::Closed);
    }
}
