//! Reads what a chart sells (rows, tables, booths and general admission) and turns each object into
//! cells.

use serde_json::Value;

use super::{SeatsioObject, SeatsioReader};
use crate::plans::foreign_json::{PlanObject, placed};
use crate::plans::seatmap::{AdmissionArea, PlanPoint, Seat, SeatKind, SeatingRow};
use crate::plans::seatsio::inherit::SeatsioScope;

/// What the chairs of one row or table have in common.
struct SeatsioChairs<'a> {
    label: Option<&'a str>,
    kind: SeatKind,
    /// The position of chairs that have no position of their own.
    middle: Option<(f64, f64)>,
}

impl SeatsioReader {
    /// Reads everything that can be sold in one drawing: that of the whole chart or of a section.
    pub fn read_objects(
        &mut self,
        drawing: &SeatsioObject,
        within: Option<&PlanObject<'_>>,
        scope: &SeatsioScope,
    ) {
        let whole = PlanObject::new(within, "subChart", 0, drawing);
        for (index, row) in whole.list_objects("rows", &mut self.faults) {
            self.read_row(&PlanObject::new(within, "row", index, row), scope);
        }
        for (index, table) in whole.list_objects("tables", &mut self.faults) {
            self.read_table(&PlanObject::new(within, "table", index, table), scope);
        }
        for (index, booth) in whole.list_objects("booths", &mut self.faults) {
            self.read_booth(&PlanObject::new(within, "booth", index, booth), scope);
        }
        for (index, area) in whole.list_objects("generalAdmissionAreas", &mut self.faults) {
            self.read_area(
                &PlanObject::new(within, "generalAdmissionArea", index, area),
                scope,
            );
        }
    }

    fn read_row(&mut self, object: &PlanObject<'_>, scope: &SeatsioScope) {
        if !object.flag("published", true, &mut self.faults) {
            return;
        }
        let label = object.label(&mut self.faults);
        let mut scope = scope.clone();
        scope.zone = self.resolve_zone(object, scope.zone);
        // A row that is not drawn inside a section may still name a section.
        if let (None, Some(Value::String(section))) = (scope.section, object.get("sectionLabel"))
            && !section.trim().is_empty()
        {
            scope.section = Some(self.draft.section(section));
            scope.prefix = format!("{section}-");
        }
        let common = SeatsioChairs {
            label,
            kind: SeatKind::Seat,
            middle: None,
        };
        self.read_chairs(object, &scope, &common);
    }

    fn read_table(&mut self, object: &PlanObject<'_>, scope: &SeatsioScope) {
        if !object.flag("published", true, &mut self.faults) || !self.check_sold_by_the_seat(object)
        {
            return;
        }
        let label = object.label(&mut self.faults);
        let middle = self.middle(object);
        let scope = SeatsioScope {
            section: label.map(|label| self.draft.section(&format!("{}{label}", scope.prefix))),
            zone: self.resolve_zone(object, scope.zone),
            category: self
                .category_keys
                .own_or_inherited(object, scope.category, &mut self.faults),
            ..scope.clone()
        };
        let common = SeatsioChairs {
            label,
            kind: SeatKind::Table,
            middle,
        };
        self.read_chairs(object, &scope, &common);
    }

    /// Reads the seats of a row or table.
    fn read_chairs(
        &mut self,
        object: &PlanObject<'_>,
        scope: &SeatsioScope,
        common: &SeatsioChairs<'_>,
    ) {
        let row = u32::try_from(self.draft.parts.rows.len())
            .expect("at most as many rows as the text has bytes");
        let mut cells = Vec::new();
        for (index, chair) in object.list_objects("seats", &mut self.faults) {
            let chair = PlanObject::new(Some(object), "seat", index, chair);
            if !chair.flag("published", true, &mut self.faults)
                || chair.flag("disabledBySocialDistancingRules", false, &mut self.faults)
            {
                continue;
            }
            if !self.draft.count_units(1, || chair.path(), &mut self.faults) {
                return;
            }
            cells.extend(self.read_chair(&chair, row, scope, common));
        }
        if let Some(label) = common.label
            && !cells.is_empty()
        {
            self.draft.parts.rows.push(SeatingRow {
                section: scope.section,
                label: label.to_owned(),
                cells,
            });
        }
    }

    /// Reads one seat of a row or table. Returns the seat's cell, or none if the seat has a fault.
    fn read_chair(
        &mut self,
        chair: &PlanObject<'_>,
        row: u32,
        scope: &SeatsioScope,
        common: &SeatsioChairs<'_>,
    ) -> Option<u32> {
        let number = chair.label(&mut self.faults);
        let category = self
            .category_keys
            .required(chair, scope.category, &mut self.faults);
        let coordinates = match common.middle {
            Some(middle) if chair.get("x").is_none() && chair.get("y").is_none() => Some(middle),
            _ => chair.coordinates(&mut self.faults),
        };
        let position = coordinates.and_then(|position| self.placed(chair, position, scope));
        let [accessible, companion, restricted_view] =
            ["accessible", "companionSeat", "restrictedView"]
                .map(|flag| chair.flag(flag, false, &mut self.faults));
        let number = number?;
        let label = format!("{}{}-{number}", scope.prefix, common.label?);
        let (Some(category), Some(PlanPoint { x, y })) = (category, position) else {
            // A seat with another fault still takes its label, so that a second seat with that
            // label is found as well.
            self.draft
                .claim_label(&label, || chair.path(), &mut self.faults);
            return None;
        };
        let seat = Seat {
            label,
            x,
            y,
            category,
            section: scope.section,
            zone: scope.zone,
            row: Some(row),
            number: number.to_owned(),
            accessible,
            companion,
            restricted_view,
            kind: common.kind,
        };
        self.draft.add_seat(seat, || chair.path(), &mut self.faults)
    }

    fn read_booth(&mut self, object: &PlanObject<'_>, scope: &SeatsioScope) {
        if !object.flag("published", true, &mut self.faults)
            || !self
                .draft
                .count_units(1, || object.path(), &mut self.faults)
        {
            return;
        }
        let unit = self.read_unit(object, scope, SeatKind::Booth);
        if let Some(unit) = unit {
            self.draft
                .add_seat(unit, || object.path(), &mut self.faults);
        }
    }

    fn read_area(&mut self, object: &PlanObject<'_>, scope: &SeatsioScope) {
        if !object.flag("published", true, &mut self.faults) || !self.check_sold_by_the_seat(object)
        {
            return;
        }
        let capacity = object.capacity(&mut self.faults);
        let unit = self.read_unit(object, scope, SeatKind::Standing);
        let (Some(capacity), Some(unit)) = (capacity, unit) else {
            return;
        };
        if !self
            .draft
            .count_units(capacity as usize, || object.path(), &mut self.faults)
        {
            return;
        }
        let area = AdmissionArea {
            label: unit.label.clone(),
            category: unit.category,
            first: 0,
            capacity,
            section: unit.section,
            zone: unit.zone,
            center: PlanPoint {
                x: unit.x,
                y: unit.y,
            },
        };
        self.draft
            .add_area(area, &unit, &object.path(), &mut self.faults);
    }

    /// Reads a booth, or what all units of an area have in common.
    fn read_unit(
        &mut self,
        object: &PlanObject<'_>,
        scope: &SeatsioScope,
        kind: SeatKind,
    ) -> Option<Seat> {
        let label = object.label(&mut self.faults);
        let category = self
            .category_keys
            .required(object, scope.category, &mut self.faults);
        let zone = self.resolve_zone(object, scope.zone);
        let middle = self.middle(object);
        if middle.is_none() {
            let message = "It has neither a `center` nor `points` nor an `x` and `y`: nobody can see where it is.";
            self.faults
                .add_fault(object.path(), "bad_coordinate", message);
        }
        let PlanPoint { x, y } = middle.and_then(|at| self.placed(object, at, scope))?;
        Some(Seat {
            label: format!("{}{}", scope.prefix, label?),
            x,
            y,
            category: category?,
            section: scope.section,
            zone,
            row: None,
            number: label?.to_owned(),
            accessible: false,
            companion: false,
            restricted_view: false,
            kind,
        })
    }

    /// Returns the middle of a shape. This is its centre. If it has no centre, it is the mean of
    /// its corners. If it has no corners either, it is its position.
    fn middle(&mut self, object: &PlanObject<'_>) -> Option<(f64, f64)> {
        if object.get("center").is_some() {
            return object.point("center", &mut self.faults);
        }
        let corners: Vec<_> = object
            .list_objects("points", &mut self.faults)
            .into_iter()
            .filter_map(|(index, corner)| {
                PlanObject::new(Some(object), "points", index, corner).coordinates(&mut self.faults)
            })
            .collect();
        if !corners.is_empty() {
            let count = f64::from(
                u32::try_from(corners.len())
                    .expect("at most as many corners as the text has bytes"),
            );
            let sum = corners
                .iter()
                .fold((0.0, 0.0), |sum, at| (sum.0 + at.0, sum.1 + at.1));
            return Some((sum.0 / count, sum.1 / count));
        }
        (object.get("x").is_some() || object.get("y").is_some())
            .then(|| object.coordinates(&mut self.faults))
            .flatten()
    }

    fn placed(
        &mut self,
        object: &PlanObject<'_>,
        at: (f64, f64),
        scope: &SeatsioScope,
    ) -> Option<PlanPoint> {
        placed(
            || object.path(),
            (at.0 + scope.offset.0, at.1 + scope.offset.1),
            &mut self.faults,
        )
    }

    fn check_sold_by_the_seat(&mut self, object: &PlanObject<'_>) -> bool {
        let whole: Vec<&str> = ["bookAsAWhole", "variableOccupancy"]
            .into_iter()
            .filter(|flag| object.flag(flag, false, &mut self.faults))
            .collect();
        for flag in &whole {
            let message = format!(
                "`{flag}` is set, but places are only sold one by one here. Clear it, or leave this object out."
            );
            self.faults
                .add_fault(object.path(), "not_supported", message);
        }
        whole.is_empty()
    }
}
