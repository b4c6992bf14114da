//! The fixed pace as a pure function: how many ranks to release now. The loop in `release` carries it out.

/// The longest silence that earns releases, milliseconds: a stopped clock banks nothing.
pub const BANKED_MS_MAX: u64 = 1000;
/// One visitor, in the unit of [`Input::remainder_u`].
pub const VISITOR_U: u64 = 1_000_000;

/// One second's measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// Since the last tick, milliseconds.
    pub elapsed_ms: u64,
    /// Millionths of a visitor left over from the last tick; below one visitor.
    pub remainder_u: u64,
    /// Millionths of a visitor a second; `None` for a room without a line.
    pub per_s_u: Option<u64>,
    /// The most that may be inside at once.
    pub max_inside: u64,
    /// Claimed, unfinished, unexpired.
    pub inside: u64,
    /// Released and unclaimed within their window.
    pub called: u64,
    /// Millionths owed for visitors who were let in late: they went ahead of new releases.
    pub owed_u: u64,
    /// Whether the room lets people in at all now: selling and not paused.
    pub selling: bool,
    /// The release counter.
    pub released: u64,
    /// Ranks that exist: the counter never passes this.
    pub end: u64,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// The counter's new value.
    pub released: u64,
    /// People called by this move; voids are not people.
    pub people: u64,
    /// What the next tick starts with.
    pub remainder_u: u64,
    /// What is still owed for late comers.
    pub owed_u: u64,
}

/// What a time earns at a rate, millionths of a visitor.
#[must_use]
pub fn credit_u(per_s_u: u64, elapsed_ms: u64) -> u64 {
    let elapsed = u128::from(elapsed_ms.min(BANKED_MS_MAX));
    u64::try_from(u128::from(per_s_u) * elapsed / 1000).unwrap_or(u64::MAX)
}

/// Decides one tick. `is_void(rank)` says whether nobody stands at that rank: such ranks cost nothing.
#[must_use]
pub fn step(input: &Input, is_void: impl Fn(u64) -> bool) -> Release {
    // Nothing is banked while nobody is released, but what late comers took is repaid: time passes all the same.
    let idle = Release {
        released: input.released,
        people: 0,
        remainder_u: 0,
        owed_u: input.per_s_u.map_or(0, |per_s_u| {
            input
                .owed_u
                .saturating_sub(credit_u(per_s_u, input.elapsed_ms))
        }),
    };
    if !input.selling || input.released >= input.end {
        return idle;
    }
    let credit = input.per_s_u.map(|per_s_u| {
        input
            .remainder_u
            .saturating_add(credit_u(per_s_u, input.elapsed_ms))
    });
    let earned_u = credit.map(|credit| credit.saturating_sub(input.owed_u));
    let owed_u = credit.map_or(0, |credit| input.owed_u.saturating_sub(credit));
    let room = input
        .max_inside
        .saturating_sub(input.inside.saturating_add(input.called));
    let budget = earned_u.map_or(room, |earned| (earned / VISITOR_U).min(room));
    let (mut rank, mut people) = (input.released, 0);
    while rank < input.end {
        if !is_void(rank) {
            if people == budget {
                break;
            }
            people += 1;
        }
        rank += 1;
    }
    // What binds is either the rate, and then the fraction goes on, or the room or the line, and then nothing is
    // banked beyond that fraction. An emptied line starts from nothing.
    let remainder_u = if rank == input.end {
        0
    } else {
        earned_u.map_or(0, |earned| earned % VISITOR_U)
    };
    Release {
        released: rank,
        people,
        remainder_u,
        owed_u,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BASE: Input = Input {
        elapsed_ms: 1000,
        remainder_u: 0,
        per_s_u: Some(5 * VISITOR_U),
        max_inside: 100,
        inside: 0,
        called: 0,
        owed_u: 0,
        selling: true,
        released: 0,
        end: 1000,
    };

    fn check(input: Input, released: u64, remainder_u: u64) {
        let got = step(&input, |_| false);
        assert_eq!(
            (got.released, got.remainder_u),
            (released, remainder_u),
            "{input:?}"
        );
    }

    #[test]
    fn three_in_ten_seconds_come_out_as_three() {
        let (mut input, mut at) = (
            Input {
                per_s_u: Some(300_000),
                ..BASE
            },
            Vec::new(),
        );
        for tick in 1..=10 {
            let got = step(&input, |_| false);
            if got.people > 0 {
                at.push(tick);
            }
            input = Input {
                released: got.released,
                remainder_u: got.remainder_u,
                ..input
            };
        }
        assert_eq!((input.released, at), (3, vec![4, 7, 10]));
    }

    #[test]
    fn silence_and_an_empty_line_bank_nothing() {
        check(
            Input {
                elapsed_ms: 3_600_000,
                ..BASE
            },
            5,
            0,
        );
        check(
            Input {
                remainder_u: 900_000,
                end: 0,
                ..BASE
            },
            0,
            0,
        );
        check(
            Input {
                remainder_u: 900_000,
                selling: false,
                ..BASE
            },
            0,
            0,
        );
        check(
            Input {
                end: 3,
                remainder_u: 900_000,
                ..BASE
            },
            3,
            0,
        );
    }

    #[test]
    fn the_room_inside_binds_and_late_comers_go_first() {
        check(
            Input {
                inside: 97,
                called: 1,
                ..BASE
            },
            2,
            0,
        );
        check(
            Input {
                inside: 200,
                ..BASE
            },
            0,
            0,
        );
        check(
            Input {
                owed_u: 4 * VISITOR_U,
                ..BASE
            },
            1,
            0,
        );
        let owing = step(
            &Input {
                owed_u: 9 * VISITOR_U,
                ..BASE
            },
            |_| false,
        );
        assert_eq!((owing.released, owing.owed_u), (0, 4 * VISITOR_U));
        check(
            Input {
                per_s_u: None,
                inside: 10,
                ..BASE
            },
            90,
            0,
        );
    }

    #[test]
    fn voids_cost_nothing() {
        let got = step(&BASE, |rank| rank % 10 != 9);
        assert_eq!(
            (got.released, got.people),
            (59, 5),
            "five people and the voids up to the sixth"
        );
    }

    proptest! {
        #[test]
        fn the_counter_is_monotone_and_never_above_budget(
            elapsed_ms in 0_u64..5000, remainder_u in 0..VISITOR_U, per_s_u in 1000_u64..100 * VISITOR_U, max_inside in 0_u64..200,
            inside in 0_u64..200, called in 0_u64..200, owed_u in 0..20 * VISITOR_U, selling: bool, released in 0_u64..300, end in 0_u64..300, void in 1_u64..9,
        ) {
            let input = Input { elapsed_ms, remainder_u, per_s_u: Some(per_s_u), max_inside, inside, called, owed_u, selling, released, end };
            let got = step(&input, |rank| rank % void == 0);
            prop_assert!(got.released >= released && got.released <= end.max(released));
            let earned = remainder_u + per_s_u * elapsed_ms.min(1000) / 1000;
            prop_assert!(got.people * VISITOR_U <= earned);
            prop_assert!(got.people <= max_inside.saturating_sub(inside + called));
            prop_assert!(got.remainder_u < VISITOR_U);
            let counted = (released..got.released).filter(|rank| rank % void != 0).count() as u64;
            prop_assert_eq!(counted, got.people);
        }
    }
}
