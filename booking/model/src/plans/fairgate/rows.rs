//! Reads the rows of a plan in our own format.

use std::collections::HashSet;

use serde_json::Value;

use super::arc::{ExactPoint, RowLine};
use super::fields::{SEAT_NUMBER_MAX, bounded, seat_number};
use super::{FairgateReader, FairgateScope};
use crate::plans::foreign_json::{PlanObject, placed, quote_value};
use crate::plans::seatmap::{PlanPoint, Seat, SeatKind, SeatingRow};
use crate::plans::{COORDINATE_MAX, PLAN_SEATS_MAX};

const ROW_FIELDS: [&str; 12] = [
    "label",
    "category",
    "seats",
    "count",
    "from",
    "to",
    "bend",
    "first",
    "step",
    "accessible",
    "companion",
    "restricted_view",
];
/// The fields of a row whose seats stand on a line.
const LINE_FIELDS: [&str; 6] = ["count", "from", "to", "bend", "first", "step"];
/// The largest step from one seat's number to the next.
const STEP_MAX: i64 = 100;

/// The number of a seat, and its position.
type NumberedPlace = (String, ExactPoint);

/// The seats of a row that have a flag.
enum FlaggedSeats {
    All,
    Numbers(HashSet<String>),
}

impl FlaggedSeats {
    fn has(&self, number: &str) -> bool {
        match self {
            Self::All => true,
            Self::Numbers(numbers) => numbers.contains(number),
        }
    }
}

impl FairgateReader {
    pub(super) fn read_row(&mut self, object: &PlanObject<'_>, scope: &FairgateScope) {
        object.refuse_unknown(&ROW_FIELDS, &mut self.faults);
        let label = object.label(&mut self.faults);
        let category = self
            .categories
            .required(object, scope.category, &mut self.faults);
        let Some(places) = self.row_places(object) else {
            return;
        };
        let flags = ["accessible", "companion", "restricted_view"]
            .map(|flag| self.flagged_seats(object, flag, &places));
        let Some(label) = label else {
            return;
        };
        let row =
            u32::try_from(self.draft.parts.rows.len()).expect("a text has fewer than 2^32 rows");
        let mut cells = Vec::with_capacity(places.len());
        for (index, (number, place)) in places.into_iter().enumerate() {
            let at = || object.path_to(&format!("seats[{index}] {number:?}"));
            let point = placed(at, place, &mut self.faults);
            let label = format!("{}{label}-{number}", scope.prefix);
            let (Some(category), Some(PlanPoint { x, y })) = (category, point) else {
                // A seat with another fault still claims its label, so that a second seat with the
                // label is found, too.
                self.draft.claim_label(&label, at, &mut self.faults);
                continue;
            };
            let [accessible, companion, restricted_view] =
                flags.each_ref().map(|seats| seats.has(&number));
            let seat = Seat {
                label,
                x,
                y,
                category,
                section: scope.section,
                zone: None,
                row: Some(row),
                number: number.clone(),
                accessible,
                companion,
                restricted_view,
                kind: SeatKind::Seat,
            };
            cells.extend(self.draft.add_seat(seat, at, &mut self.faults));
        }
        self.draft.parts.rows.push(SeatingRow {
            section: scope.section,
            label: label.to_owned(),
            cells,
        });
    }

    /// Returns the numbers and positions of the row's seats.
    fn row_places(&mut self, object: &PlanObject<'_>) -> Option<Vec<NumberedPlace>> {
        let lined = LINE_FIELDS.iter().find(|field| object.get(field).is_some());
        let (code, message) = match (object.get("seats"), lined) {
            (Some(Value::Array(seats)), None) if !seats.is_empty() => {
                return self.listed_places(object, seats);
            }
            (None, Some(_)) => return self.lined_places(object),
            (Some(_), Some(field)) => (
                "bad_row",
                format!(
                    "The row has `seats` and `{field}`. List the seats, or count them along a line."
                ),
            ),
            (None, None) | (Some(Value::Array(_)), None) => (
                "no_seats",
                "The row has no seats. Give it `seats`, or `count` with `from` and `to`."
                    .to_owned(),
            ),
            (Some(other), None) => (
                "bad_list",
                format!(
                    "`seats` is {} where a list is expected.",
                    quote_value(other)
                ),
            ),
        };
        self.faults.add_fault(object.path(), code, message);
        None
    }

    /// Reads seats that are listed as `[number, x, y]`.
    fn listed_places(
        &mut self,
        object: &PlanObject<'_>,
        seats: &[Value],
    ) -> Option<Vec<NumberedPlace>> {
        if !self
            .draft
            .count_units(seats.len(), || object.path(), &mut self.faults)
        {
            return None;
        }
        let mut places = Vec::with_capacity(seats.len());
        for (index, seat) in seats.iter().enumerate() {
            let parts = seat.as_array().map_or(&[][..], Vec::as_slice);
            let place = match parts {
                [number, x, y] => seat_number(number).zip(bounded(x).zip(bounded(y))),
                _ => None,
            };
            if place.is_none() {
                let message = format!(
                    "Expected [number, x, y]: a whole number or a short text, and two numbers between ±{COORDINATE_MAX}."
                );
                self.faults.add_fault(
                    object.path_to(&format!("seats[{index}]")),
                    "bad_seat",
                    message,
                );
            }
            places.extend(place);
        }
        Some(places)
    }

    /// Places the seats of a row on its line, and numbers them.
    fn lined_places(&mut self, object: &PlanObject<'_>) -> Option<Vec<NumberedPlace>> {
        let largest = i64::try_from(PLAN_SEATS_MAX).unwrap_or(i64::MAX);
        if object.get("count").is_none() {
            let message = "The row has no `count`, so nobody knows how many seats it has.";
            self.faults.add_fault(object.path(), "bad_number", message);
        }
        let count = object.whole("count", 0, 1..=largest, &mut self.faults);
        let first = object.whole("first", 1, 0..=SEAT_NUMBER_MAX, &mut self.faults);
        let step = object.whole("step", 1, -STEP_MAX..=STEP_MAX, &mut self.faults);
        let line = self.row_line(object, count.is_none_or(|count| count > 1));
        let (count, first, step) = (count.filter(|count| *count > 0)?, first?, step?);
        let last = first + step * (count - 1);
        if count > 1 && (step == 0 || !(0..=SEAT_NUMBER_MAX).contains(&last)) {
            let message = format!(
                "With `first` {first} and `step` {step}, the {count} seats do not get numbers that all differ and are between 0 and {SEAT_NUMBER_MAX}."
            );
            self.faults.add_fault(object.path(), "bad_number", message);
            return None;
        }
        let line = line?;
        let seats = u32::try_from(count).expect("the bounds above are far below 2^32");
        if !self
            .draft
            .count_units(seats as usize, || object.path(), &mut self.faults)
        {
            return None;
        }
        let numbers = (0..count).map(|seat| (first + step * seat).to_string());
        Some(numbers.zip(line.seats(seats)).collect())
    }

    /// Reads the line on which the seats of a row stand. A single seat needs no end point.
    fn row_line(&mut self, object: &PlanObject<'_>, needs_end: bool) -> Option<RowLine> {
        let from = object.required_pair("from", &mut self.faults);
        let to = if needs_end {
            object.required_pair("to", &mut self.faults)
        } else {
            object.pair("to", &mut self.faults).or(from)
        };
        let bend = object.number("bend", 0.0, &mut self.faults);
        let line = RowLine {
            from: from?,
            to: to?,
            bend: bend?,
        };
        let length = line.length();
        if needs_end && length == 0.0 {
            let message = "`from` and `to` are the same point, so all seats would be in one place.";
            self.faults.add_fault(object.path(), "bad_row", message);
            return None;
        }
        if line.bend.abs() > length / 2.0 {
            let message = format!(
                "`bend` is {}; expected at most half the distance from `from` to `to`, which is {:.1}.",
                line.bend,
                length / 2.0
            );
            self.faults.add_fault(object.path(), "bad_bend", message);
            return None;
        }
        Some(line)
    }

    /// Reads which seats have a flag. The value is `true` for all seats, or a list of their
    /// numbers.
    fn flagged_seats(
        &mut self,
        object: &PlanObject<'_>,
        flag: &str,
        places: &[NumberedPlace],
    ) -> FlaggedSeats {
        let mut flagged = HashSet::new();
        match object.get(flag) {
            Some(Value::Bool(true)) => return FlaggedSeats::All,
            None | Some(Value::Bool(false)) => {}
            Some(Value::Array(listed)) => {
                let known: HashSet<&str> =
                    places.iter().map(|(number, _)| number.as_str()).collect();
                for (index, value) in listed.iter().enumerate() {
                    let number = seat_number(value);
                    match number.filter(|number| known.contains(number.as_str())) {
                        Some(number) => {
                            flagged.insert(number);
                        }
                        None => self.faults.add_fault(
                            object.path_to(&format!("{flag}[{index}]")),
                            "unknown_seat",
                            format!(
                                "{} is not the number of a seat in this row.",
                                quote_value(value)
                            ),
                        ),
                    }
                }
            }
            Some(other) => self.faults.add_fault(
                object.path_to(flag),
                "bad_flag",
                format!(
                    "`{flag}` is {}; expected a list of numbers of seats, or true for all.",
                    quote_value(other)
                ),
            ),
        }
        FlaggedSeats::Numbers(flagged)
    }
}
