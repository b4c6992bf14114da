//! Finds the calls of one run of a train in another run of the same train, which may have more
//! stops or fewer. A train may call at a station more than once, so the times decide which call is
//! which.

use std::cmp::Reverse;

use super::StationCall;

/// How good an alignment is: how many calls are found, and by how many seconds they are apart in
/// all. More calls count before less time.
type Fit = (u16, Reverse<u64>);

/// Returns for each earlier call the number of the later call that is the same. The calls that are
/// found have the same order in both lists. As many calls as possible are found, and of the ways to
/// find as many, the one with the least difference of times.
///
/// This is the longest common subsequence by dynamic programming (Wagner and Fischer 1974), with
/// the times as second criterion.
pub(super) fn align(earlier: &[StationCall], later: &[StationCall]) -> Vec<Option<u16>> {
    let width = later.len() + 1;
    // The best fit of the calls from one of each list on.
    let mut fits: Vec<Fit> = vec![(0, Reverse(0)); (earlier.len() + 1) * width];
    let met = |fits: &[Fit], at: usize, to: usize| -> Option<Fit> {
        let (count, Reverse(apart)) = fits[(at + 1) * width + to + 1];
        let apart_here = seconds_apart(&earlier[at], &later[to])?;
        Some((count + 1, Reverse(apart + apart_here)))
    };
    for at in (0..earlier.len()).rev() {
        for to in (0..later.len()).rev() {
            let skipped = fits[(at + 1) * width + to].max(fits[at * width + to + 1]);
            let best = met(&fits, at, to).map_or(skipped, |met| met.max(skipped));
            fits[at * width + to] = best;
        }
    }
    let mut found = vec![None; earlier.len()];
    let (mut at, mut to) = (0, 0);
    while at < earlier.len() && to < later.len() {
        let best = fits[at * width + to];
        if met(&fits, at, to) == Some(best) {
            found[at] = u16::try_from(to).ok();
            (at, to) = (at + 1, to + 1);
        } else if fits[(at + 1) * width + to] == best {
            at += 1;
        } else {
            to += 1;
        }
    }
    found
}

/// Returns by how many seconds two calls at one station are apart. Returns `None` if they are at
/// different stations.
fn seconds_apart(one: &StationCall, other: &StationCall) -> Option<u64> {
    if one.station != other.station {
        return None;
    }
    let time = |call: &StationCall| call.departs.or(call.arrives);
    let apart = time(one).zip(time(other));
    Some(apart.map_or(0, |(one, other)| {
        other.duration_since(one).as_secs().unsigned_abs()
    }))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    /// Returns calls at stations of one letter, each with the minute at which the train leaves.
    fn calls(text: &str) -> Vec<StationCall> {
        let call = |word: &str| {
            let (station, minute) = word.split_at(1);
            let second = minute.parse::<i64>().expect("a number") * 60;
            StationCall {
                station: station.to_owned(),
                name: station.to_owned(),
                time_zone: None,
                arrives: None,
                departs: Timestamp::from_second(second).ok(),
                at_m: 0,
                no_boarding: false,
                no_alighting: false,
            }
        };
        text.split(' ').map(call).collect()
    }

    fn check(earlier: &str, later: &str, expected: &[Option<u16>]) {
        let found = align(&calls(earlier), &calls(later));
        assert_eq!(found, expected, "{earlier} in {later}");
    }

    #[test]
    fn stops_that_come_in_or_go_out_leave_the_others_found() {
        check("A0 B30 C60", "A0 X10 B30 C60", &[Some(0), Some(2), Some(3)]);
        check("A0 B30 C60", "A0 C60", &[Some(0), None, Some(1)]);
        check("A0 B30", "X0 Y30", &[None, None]);
    }

    #[test]
    fn a_loop_that_comes_in_before_or_goes_out_leaves_each_call_its_time() {
        check(
            "A60 B80 C100",
            "A20 B35 A60 B80 C100",
            &[Some(2), Some(3), Some(4)],
        );
        check(
            "A0 B20 A42 C60 D80",
            "A42 C60 D80",
            &[None, None, Some(0), Some(1), Some(2)],
        );
    }

    #[test]
    fn of_stops_in_another_order_as_many_as_possible_are_found() {
        check(
            "A0 B30 C60 D90",
            "A0 C30 B60 D90",
            &[Some(0), None, Some(1), Some(3)],
        );
    }
}
