//! What a visitor may ask to hold, read and checked whole before anything is looked at twice.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use crate::catalogue::seatmap::SeatMap;
use crate::catalogue::show::Show;
use crate::http::Problem;
use crate::inventory::choose::{Ask, Wish};

/// No list in a request may be longer than this; limits of shows are far below.
const LIST_MAX: usize = 1_000;

/// `POST /v1/shows/{show}/holds`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldAsk {
    /// Labels of seats.
    #[serde(default)]
    pub seats: Vec<String>,
    /// General admission by quantity, also together with `seats`.
    #[serde(default)]
    pub areas: Vec<AreaAsk>,
    /// Best available, alone.
    #[schema(value_type = Option<Object>)]
    pub best: Option<Ask>,
    /// Rail: where the journey begins.
    pub from: Option<String>,
    /// Rail: where it ends.
    pub to: Option<String>,
}

/// Some places of one general-admission area.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AreaAsk {
    /// The area's label.
    pub label: String,
    /// How many.
    pub quantity: u32,
}

/// `PATCH /v1/holds/{hold}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldChange {
    /// Labels of seats to take.
    #[serde(default)]
    pub add: Vec<String>,
    /// Labels of seats to give back.
    #[serde(default)]
    pub remove: Vec<String>,
}

/// What was asked for, resolved on the show's plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// These seats, and so many places of these areas (by index).
    Named {
        /// Seat indices.
        seats: Vec<u32>,
        /// Area index and quantity.
        areas: Vec<(usize, u32)>,
    },
    /// The best available.
    Best(Box<Wish>),
}

impl HoldAsk {
    /// Resolves the names; every seat must exist, be for sale and be named once.
    ///
    /// # Errors
    /// 422 with the field that is wrong.
    pub fn resolve(&self, show: &Show) -> Result<Wanted, Problem> {
        for (field, set) in [("from", self.from.is_some()), ("to", self.to.is_some())] {
            if set {
                return Err(Problem::field(
                    field,
                    format!("{field}: this show has no stops; leave it out. Nothing was held."),
                ));
            }
        }
        let limit = show.document.seats_per_visitor;
        if let Some(best) = &self.best {
            if !self.seats.is_empty() || !self.areas.is_empty() {
                return Err(Problem::field(
                    "best",
                    "best: ask for the best available or for named seats, not for both. Nothing was held.",
                ));
            }
            for (field, set) in [
                ("best.channels", best.channels.is_some()),
                ("best.ignore_channels", best.ignore_channels),
            ] {
                if set {
                    return Err(Problem::not_available(
                        field,
                        format!(
                            "{field}: this version has no sales channels; leave it out. Nothing was held."
                        ),
                    ));
                }
            }
            if best.quantity > limit {
                return Err(limit_exceeded(0, u64::from(best.quantity), limit));
            }
            let wish = best.resolve(&show.plan.map, &BTreeMap::new());
            let wish = wish
                .map_err(|bad| Problem::field(&format!("best.{}", bad.field()), bad.to_string()))?;
            return Ok(Wanted::Best(Box::new(wish)));
        }
        let asked = self.seats.len() as u64
            + self
                .areas
                .iter()
                .map(|area| u64::from(area.quantity))
                .sum::<u64>();
        if asked == 0 {
            return Err(Problem::field(
                "seats",
                "seats: ask for at least one seat, by seats, areas or best. Nothing was held.",
            ));
        }
        if self.seats.len() > LIST_MAX || asked > u64::from(limit) {
            return Err(limit_exceeded(0, asked, limit));
        }
        let seats = seats_by_label(&show.plan.map, &self.seats, "seats", show)?;
        let areas = self.areas_by_label(&show.plan.map)?;
        Ok(Wanted::Named { seats, areas })
    }

    fn areas_by_label(&self, map: &SeatMap) -> Result<Vec<(usize, u32)>, Problem> {
        let mut areas: Vec<(usize, u32)> = Vec::new();
        for (i, asked) in self.areas.iter().enumerate() {
            let index = map.areas.iter().position(|area| area.label == asked.label);
            let index = index.ok_or_else(|| {
                unknown(
                    &format!("areas[{i}].label"),
                    std::slice::from_ref(&asked.label),
                )
            })?;
            if asked.quantity == 0 {
                return Err(Problem::field(
                    &format!("areas[{i}].quantity"),
                    "A quantity is 1 or more. Nothing was held.",
                ));
            }
            if areas.iter().any(|(present, _)| *present == index) {
                return Err(twice(&format!("areas[{i}].label"), &asked.label));
            }
            areas.push((index, asked.quantity));
        }
        Ok(areas)
    }
}

impl HoldChange {
    /// Resolves the names: seats to add, seats to remove.
    ///
    /// # Errors
    /// 422 with the field that is wrong.
    pub fn resolve(&self, show: &Show) -> Result<(Vec<u32>, Vec<u32>), Problem> {
        if self.add.is_empty() && self.remove.is_empty() {
            return Err(Problem::field(
                "add",
                "add: name seats to add or to remove. The hold is as it was.",
            ));
        }
        if self.add.len().max(self.remove.len()) > LIST_MAX {
            return Err(limit_exceeded(
                0,
                self.add.len() as u64,
                show.document.seats_per_visitor,
            ));
        }
        let add = seats_by_label(&show.plan.map, &self.add, "add", show)?;
        let mut remove = Vec::with_capacity(self.remove.len());
        let mut strangers = Vec::new();
        for label in &self.remove {
            match show.plan.map.index_of(label) {
                Some(seat) => remove.push(seat),
                None => strangers.push(label.clone()),
            }
        }
        if strangers.is_empty() {
            Ok((add, remove))
        } else {
            Err(unknown("remove", &strangers))
        }
    }
}

fn seats_by_label(
    map: &SeatMap,
    labels: &[String],
    field: &str,
    show: &Show,
) -> Result<Vec<u32>, Problem> {
    let mut seen = HashSet::new();
    let (mut seats, mut strangers, mut blocked) =
        (Vec::with_capacity(labels.len()), Vec::new(), Vec::new());
    for (i, label) in labels.iter().enumerate() {
        let Some(seat) = map.index_of(label) else {
            strangers.push(label.clone());
            continue;
        };
        if let Some(area) = map.area_of(seat) {
            return Err(standing(&format!("{field}[{i}]"), label, &area.label));
        }
        if !seen.insert(seat) {
            return Err(twice(&format!("{field}[{i}]"), label));
        }
        if show.price(seat).is_none() {
            blocked.push(label.clone());
        }
        seats.push(seat);
    }
    if !strangers.is_empty() {
        return Err(unknown(field, &strangers));
    }
    if !blocked.is_empty() {
        let detail = format!(
            "These seats are not for sale: {}. Nothing was held. Choose others.",
            blocked.join(", ")
        );
        return Err(
            Problem::new(422, "not_for_sale", "Seats are not for sale", detail)
                .with("seats", blocked),
        );
    }
    Ok(seats)
}

fn standing(field: &str, label: &str, area: &str) -> Problem {
    let detail = format!(
        "\"{label}\" is a standing place; those are held by quantity, as areas: [{{\"label\": \"{area}\", \"quantity\": 1}}]. Nothing was held."
    );
    Problem::new(
        422,
        "unknown_seat",
        "A standing place is not a seat",
        detail,
    )
    .with("field", field)
    .with("area", area)
}

fn twice(field: &str, label: &str) -> Problem {
    let detail = format!("\"{label}\" is named twice. Nothing was held. Name every seat once.");
    Problem::new(422, "duplicate_seat", "A seat is named twice", detail).with("field", field)
}

fn unknown(field: &str, labels: &[String]) -> Problem {
    let shown: Vec<String> = labels
        .iter()
        .take(10)
        .map(|label| label.chars().take(80).collect())
        .collect();
    let detail = format!(
        "This show has no seat {}. Nothing was held. Take labels from the seat map; general admission is asked for by areas.",
        shown
            .iter()
            .map(|label| format!("\"{label}\""))
            .collect::<Vec<_>>()
            .join(", ")
    );
    Problem::new(422, "unknown_seat", "A seat is unknown", detail)
        .with("field", field)
        .with("seats", shown)
}

/// 422 `limit_exceeded`.
#[must_use]
pub fn limit_exceeded(have: u32, more: u64, limit: u32) -> Problem {
    let detail = format!(
        "A visitor may have {limit} seats of this show; you have {have} and asked for {more} more. Nothing was changed. Ask for fewer."
    );
    Problem::new(422, "limit_exceeded", "Too many seats", detail)
        .with("limit", limit)
        .with("have", have)
        .with("asked", more)
}
