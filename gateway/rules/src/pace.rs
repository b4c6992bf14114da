//! Decides, as a pure function, how many ranks to release now. `limits` works out the limits that
//! this decision must respect. The gateway's `line::release` carries out the decision.

/// One tick earns releases for at most this time, in milliseconds. So no credit is saved up while
/// there are no ticks.
pub const BANKED_MS_MAX: u64 = 1000;
/// One visitor in millionths of a visitor, which are the unit of all names that end in `_u`.
pub const VISITOR_U: u64 = 1_000_000;
/// For each person whom a tick may call, it passes at most this many ranks of absent people. If
/// everybody in a line loses the network for a minute, the counter must not reach the end of the
/// line before the people are back.
pub const AWAY_PER_PERSON: u64 = 32;

/// Who is at a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankPresence {
    /// Somebody whose socket is open, or whose page asked a moment ago.
    Here,
    /// Somebody who has not been seen for a while. The visitor is called with the others, but the
    /// pace does not expect the visitor to come.
    Away,
    /// Nobody, because the rank is a void or its visitor left.
    Nobody,
}

/// The measurements of one tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaceInput {
    /// The time since the last tick, in milliseconds.
    pub elapsed_ms: u64,
    /// What the last tick left over, in millionths of a visitor; less than one visitor.
    pub remainder_u: u64,
    /// The most that may be released, in millionths of a visitor a second; `None` in a room without
    /// a line.
    pub rate_u: Option<u64>,
    /// What is released even if `wanted` is 0, in millionths of a visitor a second.
    pub trickle_u: u64,
    /// The most people who may be called if at most `max_inside` may be inside. This limit always
    /// applies.
    pub callable: u64,
    /// The number of people whom booking can serve and for whom seats remain. Beyond this number,
    /// only the trickle is released.
    pub wanted: u64,
    /// The debt for late comers who were admitted ahead of new releases, in millionths of a
    /// visitor.
    pub owed_u: u64,
    /// The visitors who were called, ask to enter and have to wait. If they are more than one tick
    /// lets in, they enter before anybody new is called.
    pub asking: u64,
    /// Whether people may be called now: the room sells and is not paused, and in a room with a
    /// line booking's figures are known.
    pub selling: bool,
    /// The release counter.
    pub released: u64,
    /// The number of ranks that exist. The counter never passes this.
    pub end: u64,
}

/// The reason why the counter did not go further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseBound {
    /// The rate limited the release. This is the normal case.
    Rate,
    /// `max_inside`, booking's health, or the remaining seats limited the release.
    Limit,
    /// Nobody is left to call, or nobody may be called.
    Line,
}

/// The decision of one tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleaseDecision {
    /// The counter's new value.
    pub released: u64,
    /// The number of present people that this move calls.
    pub people: u64,
    /// What this tick leaves over for the next one, in millionths of a visitor.
    pub remainder_u: u64,
    /// The remaining debt for late comers, in millionths of a visitor.
    pub owed_u: u64,
    /// The share of this tick that late comers may take, in millionths of a visitor.
    pub late_u: u64,
    /// What limited the release.
    pub bound: ReleaseBound,
}

/// Returns the credit for a span of time at a rate, in millionths of a visitor.
#[must_use]
pub fn credit_u(rate_u: u64, elapsed_ms: u64) -> u64 {
    let elapsed = u128::from(elapsed_ms.min(BANKED_MS_MAX));
    u64::try_from(u128::from(rate_u) * elapsed / 1000).unwrap_or(u64::MAX)
}

/// Decides one tick. `presence_at` returns who is at a rank. Only people who are present use up the
/// pace.
#[must_use]
pub fn decide_release(
    input: &PaceInput,
    presence_at: impl Fn(u64) -> RankPresence,
) -> ReleaseDecision {
    let full_u = input
        .rate_u
        .map(|rate_u| credit_u(rate_u, input.elapsed_ms));
    let trickle_credit_u = credit_u(input.trickle_u, input.elapsed_ms);
    let wanted_u = input.wanted.saturating_mul(VISITOR_U).max(trickle_credit_u);
    let late_u = full_u.map_or(0, |full_u| full_u.min(wanted_u));
    if !input.selling || input.released >= input.end {
        // While nobody is released, nothing is saved up. But the debt for late comers shrinks with
        // time.
        return ReleaseDecision {
            released: input.released,
            people: 0,
            remainder_u: 0,
            owed_u: full_u.map_or(0, |full_u| input.owed_u.saturating_sub(full_u)),
            late_u,
            bound: ReleaseBound::Line,
        };
    }
    let budget = budget(input, full_u, trickle_credit_u);
    let walk = walk_ranks(input, budget.people, presence_at);
    let is_line_empty = walk.released == input.end;
    ReleaseDecision {
        released: walk.released,
        people: walk.people,
        // If the rate is the limit, the next tick starts with its fraction of a visitor. If
        // `callable` or `wanted` is the limit, the next tick starts with the trickle's fraction. If
        // the line is empty now, the next tick starts with nothing.
        remainder_u: if is_line_empty { 0 } else { budget.remainder_u },
        owed_u: budget.owed_u,
        late_u,
        bound: match (is_line_empty, budget.by_rate) {
            (true, _) => ReleaseBound::Line,
            (false, true) => ReleaseBound::Rate,
            (false, false) => ReleaseBound::Limit,
        },
    }
}

struct ReleaseBudget {
    people: u64,
    remainder_u: u64,
    owed_u: u64,
    by_rate: bool,
}

fn budget(input: &PaceInput, full_u: Option<u64>, trickle_credit_u: u64) -> ReleaseBudget {
    let Some(full_u) = full_u else {
        return ReleaseBudget {
            people: input.callable.min(input.wanted),
            remainder_u: 0,
            owed_u: 0,
            by_rate: false,
        };
    };
    let with_remainder = |credit_u: u64| input.remainder_u.saturating_add(credit_u);
    let asking_u = input.asking.saturating_mul(VISITOR_U);
    let asking_u = asking_u.saturating_sub(full_u.max(VISITOR_U));
    let (full_u, owed_u) = (
        with_remainder(full_u)
            .saturating_sub(input.owed_u)
            .saturating_sub(asking_u),
        input.owed_u.saturating_sub(with_remainder(full_u)),
    );
    let trickle_credit_u = with_remainder(trickle_credit_u).min(full_u);
    let by_rate = full_u <= input.wanted.min(input.callable).saturating_mul(VISITOR_U);
    let people = if by_rate {
        full_u / VISITOR_U
    } else {
        input
            .wanted
            .max(trickle_credit_u / VISITOR_U)
            .min(input.callable)
    };
    let left_u = if by_rate { full_u } else { trickle_credit_u };
    ReleaseBudget {
        people,
        remainder_u: left_u
            .saturating_sub(people.saturating_mul(VISITOR_U))
            .min(VISITOR_U - 1),
        owed_u,
        by_rate,
    }
}

struct ReleaseWalk {
    released: u64,
    people: u64,
}

fn walk_ranks(
    input: &PaceInput,
    budget: u64,
    presence_at: impl Fn(u64) -> RankPresence,
) -> ReleaseWalk {
    let (mut rank, mut people, mut away) = (input.released, 0, 0);
    let away_max = budget.saturating_mul(AWAY_PER_PERSON);
    while rank < input.end {
        match presence_at(rank) {
            RankPresence::Here if people == budget => break,
            RankPresence::Here => people += 1,
            RankPresence::Away if people == budget || away == away_max => break,
            RankPresence::Away => away += 1,
            RankPresence::Nobody => {}
        }
        rank += 1;
    }
    ReleaseWalk {
        released: rank,
        people,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BASE: PaceInput = PaceInput {
        elapsed_ms: 1000,
        remainder_u: 0,
        rate_u: Some(5 * VISITOR_U),
        trickle_u: 0,
        callable: 100,
        wanted: u64::MAX,
        owed_u: 0,
        asking: 0,
        selling: true,
        released: 0,
        end: 1000,
    };

    fn check(input: PaceInput, released: u64, remainder_u: u64) {
        let got = decide_release(&input, |_| RankPresence::Here);
        assert_eq!(
            (got.released, got.remainder_u),
            (released, remainder_u),
            "{input:?}"
        );
    }

    fn next_input(input: PaceInput, got: &ReleaseDecision) -> PaceInput {
        PaceInput {
            released: got.released,
            remainder_u: got.remainder_u,
            ..input
        }
    }

    #[test]
    fn a_pace_of_three_in_ten_seconds_releases_three() {
        let mut input = PaceInput {
            rate_u: Some(300_000),
            ..BASE
        };
        let mut at = Vec::new();
        for tick in 1..=10 {
            let got = decide_release(&input, |_| RankPresence::Here);
            if got.people > 0 {
                at.push(tick);
            }
            input = next_input(input, &got);
        }
        assert_eq!((input.released, at), (3, vec![4, 7, 10]));
    }

    #[test]
    fn a_long_silence_and_an_empty_line_save_up_nothing() {
        let waiting = PaceInput {
            remainder_u: 900_000,
            ..BASE
        };
        check(
            PaceInput {
                elapsed_ms: 3_600_000,
                ..BASE
            },
            5,
            0,
        );
        check(PaceInput { end: 0, ..waiting }, 0, 0);
        check(
            PaceInput {
                selling: false,
                ..waiting
            },
            0,
            0,
        );
        check(PaceInput { end: 3, ..waiting }, 3, 0);
    }

    #[test]
    fn max_inside_limits_the_release_and_the_debt_for_late_comers_is_paid_first() {
        check(
            PaceInput {
                callable: 2,
                ..BASE
            },
            2,
            0,
        );
        check(
            PaceInput {
                callable: 0,
                ..BASE
            },
            0,
            0,
        );
        check(
            PaceInput {
                owed_u: 4 * VISITOR_U,
                ..BASE
            },
            1,
            0,
        );
        let input = PaceInput {
            owed_u: 9 * VISITOR_U,
            ..BASE
        };
        let owing = decide_release(&input, |_| RankPresence::Here);
        assert_eq!((owing.released, owing.owed_u), (0, 4 * VISITOR_U));
        for (asking, released) in [(5, 5), (8, 2), (100, 0)] {
            check(PaceInput { asking, ..BASE }, released, 0);
        }
        let open = PaceInput {
            rate_u: None,
            callable: 90,
            ..BASE
        };
        check(open, 90, 0);
    }

    #[test]
    fn while_nobody_is_wanted_only_the_trickle_is_released() {
        let mut input = PaceInput {
            wanted: 0,
            trickle_u: 250_000,
            ..BASE
        };
        for expected in [0, 0, 0, 1, 1, 1, 1, 2] {
            let got = decide_release(&input, |_| RankPresence::Here);
            assert_eq!((got.released, got.bound), (expected, ReleaseBound::Limit));
            input = next_input(input, &got);
        }
        check(
            PaceInput {
                wanted: 3,
                trickle_u: 250_000,
                ..BASE
            },
            3,
            0,
        );
    }

    #[test]
    fn late_comers_may_take_what_a_tick_could_have_released() {
        let late = |input: PaceInput| decide_release(&input, |_| RankPresence::Here).late_u;
        assert_eq!(late(BASE), 5 * VISITOR_U);
        assert_eq!(late(PaceInput { wanted: 2, ..BASE }), 2 * VISITOR_U);
        let slow = PaceInput {
            wanted: 0,
            trickle_u: 100_000,
            ..BASE
        };
        assert_eq!(late(slow), 100_000);
        assert_eq!(
            late(PaceInput { end: 0, ..BASE }),
            5 * VISITOR_U,
            "also if nobody is left to call"
        );
    }

    #[test]
    fn voids_cost_nothing_and_absent_people_are_called_with_the_others() {
        let voids = decide_release(&BASE, |rank| {
            if rank % 10 == 9 {
                RankPresence::Here
            } else {
                RankPresence::Nobody
            }
        });
        assert_eq!(
            (voids.released, voids.people),
            (59, 5),
            "five people and the voids up to the sixth"
        );
        let away = decide_release(&BASE, |rank| {
            if rank % 10 == 9 {
                RankPresence::Here
            } else {
                RankPresence::Away
            }
        });
        assert_eq!((away.released, away.people), (50, 5));
    }

    #[test]
    fn if_everybody_is_away_the_counter_passes_only_a_limited_number_of_ranks() {
        let got = decide_release(&BASE, |_| RankPresence::Away);
        assert_eq!((got.released, got.people), (5 * AWAY_PER_PERSON, 0));
        let slow = PaceInput {
            rate_u: Some(300_000),
            ..BASE
        };
        assert_eq!(decide_release(&slow, |_| RankPresence::Away).released, 0);
    }

    proptest! {
        #[test]
        fn the_counter_never_falls_and_never_more_people_are_called_than_the_limits_allow(
            elapsed_ms in 0_u64..5000, remainder_u in 0..VISITOR_U, rate_u in 1000_u64..100 * VISITOR_U, trickle_u in 0_u64..VISITOR_U, callable in 0_u64..200,
            wanted in 0_u64..200, owed_u in 0..20 * VISITOR_U, selling: bool, released in 0_u64..300, end in 0_u64..300, void in 1_u64..9, away in 1_u64..9,
        ) {
            let input = PaceInput { elapsed_ms, remainder_u, rate_u: Some(rate_u), trickle_u, callable, wanted, owed_u, asking: 0, selling, released, end };
            let who = |rank: u64| if rank.is_multiple_of(void) { RankPresence::Nobody } else if rank.is_multiple_of(away) { RankPresence::Away } else { RankPresence::Here };
            let got = decide_release(&input, who);
            prop_assert!(got.released >= released && got.released <= end.max(released));
            let earned = remainder_u + rate_u * elapsed_ms.min(1000) / 1000;
            let slow = remainder_u + trickle_u * elapsed_ms.min(1000) / 1000;
            prop_assert!(got.people * VISITOR_U <= earned.saturating_sub(owed_u));
            prop_assert!(got.people <= callable);
            prop_assert!(got.people <= wanted.max(slow / VISITOR_U));
            prop_assert!(got.remainder_u < VISITOR_U);
            prop_assert!(got.people * VISITOR_U + got.remainder_u <= earned);
            let counted = (released..got.released).filter(|rank| who(*rank) == RankPresence::Here).count() as u64;
            prop_assert_eq!(counted, got.people);
        }

        #[test]
        fn over_any_number_of_ticks_no_more_people_are_called_than_the_rate_allows(
            ticks in proptest::collection::vec((0_u64..3000, 0_u64..50, 0_u64..2), 1..60), rate_u in 100_000_u64..50 * VISITOR_U,
        ) {
            let mut input = PaceInput { rate_u: Some(rate_u), trickle_u: rate_u / 100, end: u64::MAX, ..BASE };
            let (mut called, mut credit) = (0_u64, VISITOR_U - 1);
            for (elapsed_ms, wanted, selling) in ticks {
                input = PaceInput { elapsed_ms, wanted, selling: selling == 1, ..input };
                let got = decide_release(&input, |_| RankPresence::Here);
                called += got.people;
                credit += credit_u(rate_u, elapsed_ms);
                input = next_input(input, &got);
                prop_assert!(called * VISITOR_U <= credit);
            }
        }
    }
}
