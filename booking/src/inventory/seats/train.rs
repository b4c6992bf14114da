//! Counts a train's seats for the line, without reading store or ledger. Each seat counts once: as
//! free if possible, or else as held, sold or gone, in this order.

use fairgate_model::grid::CellState;
use fairgate_model::grid::picture::CellCounts;
use fairgate_model::shows::Show;

use super::ShowSeatFigures;

/// The end of the shortest offered stretch, by class and first leg. The end is the index after the
/// last leg. `None` means that no offered stretch begins at this leg.
type ShortestStretches = Vec<Vec<Option<u16>>>;

/// Counts the seats of a train at a moment. Here, a seat's *stretches* are the offered stretches
/// whose first stop the train has not left yet. A cancelled train has no stretches.
///
/// - A seat is *free* if one of its stretches is free.
/// - Otherwise it is *held* if one of its stretches would be free without the holds.
/// - Otherwise it is *sold* if one of its stretches has no blocked leg.
/// - Otherwise it is *gone*: it has no stretches, or each of them has a blocked leg.
///
/// Seats of a class without any offered stretch are not counted.
#[must_use]
pub fn count_train_seats(show: &Show, states: &[CellState], now_ms: i64) -> ShowSeatFigures {
    let shortest = shortest_stretches(show);
    let legs = show.legs();
    let first = show
        .first_leg_on_sale(now_ms)
        .filter(|_| !show.is_cancelled());
    let grid = show.grid();
    let (mut counts, mut gone) = (CellCounts::default(), 0);
    for (seat, details) in (0..grid.seats).zip(&show.plan.map.seats) {
        let Some(offered) = shortest.get(usize::from(details.category)) else {
            continue;
        };
        if offered.iter().all(Option::is_none) {
            continue;
        }
        let state = |leg: u16| {
            let mut cells = grid.cells_of(seat, leg..leg + 1);
            let cell = cells.next().and_then(|cell| states.get(cell as usize));
            cell.copied().unwrap_or(CellState::Blocked)
        };
        let fits = |is_open: &dyn Fn(CellState) -> bool| {
            let Some(first) = first else { return false };
            let mut open_from = first;
            for leg in first..legs.end {
                if !is_open(state(leg)) {
                    open_from = leg + 1;
                    continue;
                }
                let within = open_from..leg + 1;
                let fits = within.clone().any(|from| {
                    let to = offered.get(usize::from(from)).copied().flatten();
                    to.is_some_and(|to| to <= within.end)
                });
                if fits {
                    return true;
                }
            }
            false
        };
        if fits(&|state| state == CellState::Free) {
            counts.free += 1;
        } else if fits(&|state| matches!(state, CellState::Free | CellState::Held)) {
            counts.held += 1;
        } else if first.is_some() && fits(&|state| state != CellState::Blocked) {
            counts.sold += 1;
        } else {
            gone += 1;
        }
    }
    ShowSeatFigures {
        counts,
        gone,
        ..ShowSeatFigures::default()
    }
}

fn shortest_stretches(show: &Show) -> ShortestStretches {
    let legs = show.legs();
    let Some(run) = &show.run else {
        return Vec::new();
    };
    let categories = show.plan.map.categories.iter();
    let from = |class: &str, from: u16| {
        let mut ends = from + 1..=legs.end;
        ends.find(|to| run.fare(class, &(from..*to)).is_some())
    };
    let of_class = |class: &str| legs.clone().map(|leg| from(class, leg)).collect();
    categories.map(|class| of_class(&class.key)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use jiff::Timestamp;

    use super::*;
    use fairgate_model::plans::parse_grid;
    use fairgate_model::plans::pinned::{EncodedGeometry, SeatingPlan};
    use fairgate_model::runs::{DistanceRate, StationCall, TrainFares, TrainRun};
    use fairgate_model::shows::terms::UNNUMBERED;

    const FREE: CellState = CellState::Free;
    const HELD: CellState = CellState::Held;
    const SOLD: CellState = CellState::Sold;

    /// Builds a show of one seat on a train that leaves A at minute 10, B at 20 and C at 30, and
    /// ends at D.
    fn train(fares: TrainFares) -> Show {
        let at = |minute: i64| Timestamp::from_second(minute * 60).ok();
        let calls = [("A", 10), ("B", 20), ("C", 30), ("D", 40)];
        let calls = calls.map(|(station, minute)| StationCall {
            station: station.to_owned(),
            name: station.to_owned(),
            time_zone: None,
            arrives: at(minute),
            departs: at(minute).filter(|_| station != "D"),
            at_m: 0,
            no_boarding: false,
            no_alighting: false,
        });
        let run = TrainRun {
            train: "G1".to_owned(),
            date: jiff::civil::date(2027, 1, 1),
            time_zone: None,
            calls: calls.into(),
            fares: Arc::new(fares),
        };
        let document = serde_json::json!({
            "venue": "train", "title": "A train", "starts_at": "1970-01-01T00:10:00Z", "prices": {},
        });
        let plan = SeatingPlan {
            version: 1,
            map: parse_grid("1x1").expect("a grid"),
            geometry: EncodedGeometry {
                json: Default::default(),
                packed: Default::default(),
                digest: String::new(),
            },
        };
        Show {
            id: "g1".parse().expect("a slug"),
            document: serde_json::from_value(document).expect("a document"),
            plan: Arc::new(plan),
            prices: vec![Some(100)],
            run: Some(Arc::new(run)),
            untouched: false,
            fate: None,
            terms: UNNUMBERED,
        }
    }

    fn by_distance() -> TrainFares {
        let rate = DistanceRate {
            base: 100,
            per_km: 1,
            least: 0,
        };
        TrainFares::ByDistance(BTreeMap::from([("cat1".to_owned(), rate)]))
    }

    /// Offers only the stretches from A to C and from C to D.
    fn by_table() -> TrainFares {
        let key = |from: &str, to: &str| ("cat1".to_owned(), from.to_owned(), to.to_owned());
        TrainFares::Table(BTreeMap::from([(key("A", "C"), 200), (key("C", "D"), 100)]))
    }

    fn check(fares: TrainFares, states: [CellState; 3], minute: i64, expected: &str) {
        let figures = count_train_seats(&train(fares), &states, minute * 60_000);
        let counts = &figures.counts;
        let all = [
            ("free", counts.free),
            ("held", counts.held),
            ("sold", counts.sold),
            ("gone", figures.gone),
        ];
        let word = all.iter().find(|(_, count)| *count == 1);
        let found = word.map_or("nowhere", |(word, _)| word);
        assert_eq!(found, expected, "{states:?} at minute {minute}");
        assert!(all.iter().map(|(_, count)| count).sum::<u64>() <= 1);
    }

    #[test]
    fn a_seat_is_free_while_one_offered_stretch_of_it_is_free() {
        check(by_distance(), [FREE; 3], 0, "free");
        check(by_distance(), [SOLD, FREE, SOLD], 0, "free");
        check(by_distance(), [SOLD, HELD, SOLD], 0, "held");
        check(by_distance(), [SOLD; 3], 0, "sold");
        // A stretch with a sold leg cannot be sold, even if its other leg is free.
        check(by_table(), [FREE, SOLD, SOLD], 0, "sold");
        check(by_table(), [FREE, FREE, SOLD], 0, "free");
        check(by_table(), [FREE, HELD, SOLD], 0, "held");
        check(by_table(), [SOLD, SOLD, FREE], 0, "free");
    }

    #[test]
    fn stretches_that_the_train_has_left_no_longer_count() {
        check(by_distance(), [FREE, SOLD, SOLD], 9, "free");
        check(by_distance(), [FREE, SOLD, SOLD], 10, "sold");
        check(by_distance(), [SOLD, SOLD, FREE], 29, "free");
        check(by_distance(), [FREE; 3], 30, "gone");
        check(by_table(), [FREE, FREE, SOLD], 10, "sold");
        let cancelled = Show {
            fate: Some(fairgate_model::shows::fate::ShowFate::Cancelled),
            ..train(by_distance())
        };
        let figures = count_train_seats(&cancelled, &[FREE; 3], 0);
        assert_eq!((figures.counts.free, figures.gone), (0, 1));
    }

    #[test]
    fn a_class_without_fares_is_not_counted() {
        check(TrainFares::Table(BTreeMap::new()), [FREE; 3], 0, "nowhere");
    }
}
