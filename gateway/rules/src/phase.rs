//! The phase of a room as a pure function of its document, of what happened to it, and of the time.

use serde::{Deserialize, Serialize};

use super::document::{Document, Method};

/// Where a room stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Not open yet.
    Scheduled,
    /// Filling; numbers mean nothing yet.
    Prequeue,
    /// Frozen, waiting for the draw.
    Drawing,
    /// Letting people in.
    Selling,
    /// No seat is to be had any more; the line lives on in case seats come back.
    SoldOut,
    /// Over.
    Closed,
}

/// What happened to a room beside the passing of time. Stored with the room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Opened by hand at this time (ms).
    pub opened_at: Option<i64>,
    /// The draw was brought forward by hand at this time (ms).
    pub draw_called_at: Option<i64>,
    /// Closed by hand at this time (ms).
    pub closed_at: Option<i64>,
    /// Nobody is released while this holds.
    pub paused: bool,
}

/// What is known of the draw and the seats when the phase is worked out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    /// The line is frozen.
    pub frozen: bool,
    /// The line is drawn, and this node has the ranks.
    pub drawn: bool,
    /// Every seat of the room's shows is sold, or cannot be had any more.
    pub sold_out: bool,
}

/// The phase at `now` (ms).
#[must_use]
pub fn next(document: &Document, facts: &Facts, known: Known, now: i64) -> Phase {
    if facts.closed_at.is_some() || document.closes_at.is_some_and(|closes| now >= closes) {
        return Phase::Closed;
    }
    let line_begun = known.frozen || known.drawn;
    let open =
        facts.opened_at.is_some() || facts.draw_called_at.is_some() || now >= document.opens_at;
    if !open && !line_begun {
        return Phase::Scheduled;
    }
    let selling = match document.method {
        Method::Draw => {
            if known.frozen && !known.drawn {
                return Phase::Drawing;
            }
            known.drawn
        }
        Method::Fifo | Method::Open => draw_due(document, facts, now),
    };
    match (selling, known.sold_out) {
        (false, _) => Phase::Prequeue,
        (true, false) => Phase::Selling,
        (true, true) => Phase::SoldOut,
    }
}

/// Whether the time of the draw (or, without one, of the sale) has come.
#[must_use]
pub fn draw_due(document: &Document, facts: &Facts, now: i64) -> bool {
    facts.draw_called_at.is_some() || now >= document.draw_at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Method, facts: &Facts, known: Known, now: i64, expected: Phase) {
        let document = Document {
            method,
            opens_at: 10,
            draw_at: 20,
            closes_at: Some(30),
            ..Document::everyday()
        };
        assert_eq!(
            next(&document, facts, known, now),
            expected,
            "{method:?} {facts:?} {known:?} at {now}"
        );
    }

    #[test]
    fn a_room_goes_from_scheduled_to_closed_by_the_clock_and_the_draw() {
        let (none, facts) = (Known::default(), Facts::default());
        let frozen = Known {
            frozen: true,
            ..none
        };
        let drawn = Known {
            drawn: true,
            ..frozen
        };
        check(Method::Draw, &facts, none, 9, Phase::Scheduled);
        check(Method::Draw, &facts, none, 10, Phase::Prequeue);
        check(Method::Draw, &facts, none, 25, Phase::Prequeue);
        check(Method::Draw, &facts, frozen, 20, Phase::Drawing);
        check(Method::Draw, &facts, drawn, 20, Phase::Selling);
        check(
            Method::Draw,
            &facts,
            Known {
                sold_out: true,
                ..drawn
            },
            21,
            Phase::SoldOut,
        );
        check(Method::Draw, &facts, drawn, 30, Phase::Closed);
        check(Method::Fifo, &facts, none, 19, Phase::Prequeue);
        check(Method::Fifo, &facts, none, 20, Phase::Selling);
    }

    #[test]
    fn hands_bring_phases_forward_and_never_back() {
        let none = Known::default();
        let opened = Facts {
            opened_at: Some(1),
            ..Facts::default()
        };
        check(Method::Draw, &opened, none, 2, Phase::Prequeue);
        let called = Facts {
            draw_called_at: Some(3),
            ..Facts::default()
        };
        check(Method::Fifo, &called, none, 4, Phase::Selling);
        check(
            Method::Draw,
            &Facts::default(),
            Known {
                drawn: true,
                frozen: true,
                sold_out: false,
            },
            5,
            Phase::Selling,
        );
        let closed = Facts {
            closed_at: Some(5),
            ..Facts::default()
        };
        check(Method::Open, &closed, none, 6, Phase::Closed);
    }
}
