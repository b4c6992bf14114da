//! A map under construction. Sections get indices in the order in which they are added. A label
//! that comes twice is a fault. The fault says where the label came first.

use std::collections::HashMap;

use super::{PLAN_SEATS_MAX, PlanFault, PlanImportResult};
use crate::plans::foreign_json::PlanFaults;
use crate::plans::seatmap::{AdmissionArea, Seat, SeatMap, SeatMapParts};

/// The parts so far, with what is needed to refuse duplicates.
#[derive(Default)]
pub struct SeatMapDraft {
    /// The parts of the future map.
    pub parts: SeatMapParts,
    sections: HashMap<String, u32>,
    /// For each label, where it came first.
    first_at: HashMap<String, String>,
    /// How many units were counted, faulty ones included. The limit applies to all units in the
    /// plan.
    counted_units: usize,
    overflowed: bool,
}

impl SeatMapDraft {
    /// Returns the index of the section with this label, and adds the section if it is new.
    pub fn section(&mut self, label: &str) -> u32 {
        if let Some(known) = self.sections.get(label) {
            return *known;
        }
        let index = u32::try_from(self.parts.sections.len())
            .expect("at most as many sections as the text has bytes");
        self.parts.sections.push(label.to_owned());
        self.sections.insert(label.to_owned(), index);
        index
    }

    /// Counts units against the limit. Returns false, and adds one fault, if the plan has too many.
    pub fn count_units(
        &mut self,
        units: usize,
        at: impl FnOnce() -> String,
        faults: &mut PlanFaults,
    ) -> bool {
        self.counted_units = self.counted_units.saturating_add(units);
        if self.counted_units <= PLAN_SEATS_MAX {
            return true;
        }
        if !self.overflowed {
            self.overflowed = true;
            faults.add_fault(
                at(),
                "too_many_seats",
                format!("From here on the plan has more than {PLAN_SEATS_MAX} seats. Split it into several venues."),
            );
        }
        false
    }

    /// Adds a seat and returns its index. Returns `None`, and adds a fault, if its label is taken.
    pub fn add_seat(
        &mut self,
        seat: Seat,
        at: impl FnOnce() -> String,
        faults: &mut PlanFaults,
    ) -> Option<u32> {
        self.claim_label(&seat.label, at, faults)?;
        let index =
            u32::try_from(self.parts.seats.len()).expect("the limit on seats is far below 2^32");
        self.parts.seats.push(seat);
        Some(index)
    }

    /// Adds an area with its units. Each unit is a copy of `unit` with a label and number of its
    /// own.
    pub fn add_area(
        &mut self,
        area: AdmissionArea,
        unit: &Seat,
        at: &str,
        faults: &mut PlanFaults,
    ) {
        let first =
            u32::try_from(self.parts.seats.len()).expect("the limit on seats is far below 2^32");
        for number in 1..=area.capacity {
            let number = number.to_string();
            let label = format!("{}-{number}", area.label);
            // The units after this one would give the same fault. One fault is enough to find the
            // area or row with the same labels.
            if self.claim_label(&label, || at.to_owned(), faults).is_none() {
                return;
            }
            self.parts.seats.push(Seat {
                label,
                number,
                ..unit.clone()
            });
        }
        self.parts.areas.push(AdmissionArea { first, ..area });
    }

    /// Takes a label. If the label is taken already, adds a fault that says where it came first,
    /// and returns `None`.
    pub fn claim_label(
        &mut self,
        label: &str,
        at: impl FnOnce() -> String,
        faults: &mut PlanFaults,
    ) -> Option<()> {
        let at = at();
        if let Some(first) = self.first_at.get(label) {
            let message = format!(
                "The label {label:?} is already that of {first}. Every seat needs its own."
            );
            faults.add_fault(at, "duplicate_label", message);
            return None;
        }
        self.first_at.insert(label.to_owned(), at);
        Some(())
    }

    /// Makes the map, or returns the faults.
    pub fn finish(self, mut faults: PlanFaults) -> PlanImportResult {
        if faults.is_empty() && self.parts.seats.is_empty() {
            faults.add_fault("", "no_seats", "The plan has no seats, tables, booths or general-admission areas: there is nothing to sell.");
        }
        if !faults.is_empty() {
            return Err(faults.into_vec());
        }
        SeatMap::new(self.parts).map_err(|unsound| {
            vec![PlanFault {
                at: String::new(),
                code: "unsound",
                message: unsound.to_string(),
            }]
        })
    }
}
