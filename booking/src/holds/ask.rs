//! What a visitor may ask to hold, read and checked whole before anything is looked at twice.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use serde::Deserialize;

use super::stretch::{NOTHING_HELD, legs_of};
use crate::catalogue::seatmap::SeatMap;
use crate::catalogue::show::Show;
use crate::inventory::choose::rail::Party;
use crate::inventory::choose::{Ask, Wish};
use fairgate_base::http::Problem;

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
    /// Rail: where the journey begins, by the code of a station.
    pub from: Option<String>,
    /// Rail: where it ends, likewise.
    pub to: Option<String>,
    /// Rail: whether more seats are wanted of a journey that the visitor has ordered already.
    #[serde(default)]
    pub again: bool,
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
    /// Rail: any seats of a class.
    Class(Party),
}

/// What was asked for, and over which legs.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The seats.
    pub wanted: Wanted,
    /// All of a show without stops.
    pub legs: Range<u16>,
}

impl HoldAsk {
    /// Resolves the names; every seat must exist, be for sale and be named once.
    ///
    /// # Errors
    /// 422 with the field that is wrong; 409 `departed`, `sales_ended`.
    pub fn resolve(&self, show: &Show, now_ms: i64) -> Result<Asked, Problem> {
        let (from, to) = (self.from.as_deref(), self.to.as_deref());
        let legs = legs_of(show, from, to, now_ms, NOTHING_HELD)?;
        if self.again && show.run.is_none() {
            let detail = format!("again: this show has no journeys; leave it out. {NOTHING_HELD}");
            return Err(Problem::field("again", detail));
        }
        let wanted = self.wanted(show, &legs)?;
        Ok(Asked { wanted, legs })
    }

    fn wanted(&self, show: &Show, legs: &Range<u16>) -> Result<Wanted, Problem> {
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
            if show.run.is_some() {
                return Ok(Wanted::Class(party_of(best, show, legs)?));
            }
            if best.class.is_some() {
                return Err(Problem::field(
                    "best.class",
                    "best.class: classes are for trains; this show has best.categories. Nothing was held.",
                ));
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
        if show.run.is_some() && !self.areas.is_empty() {
            return Err(Problem::field(
                "areas",
                "areas: a train has seats only; ask for them by seats or best. Nothing was held.",
            ));
        }
        let seats = seats_by_label(&show.plan.map, &self.seats, "seats", show)?;
        let unsold = seats
            .iter()
            .filter(|seat| show.fare(**seat, legs).is_none());
        let unsold: Vec<&str> = unsold.map(|seat| show.label(*seat)).collect();
        if !unsold.is_empty() {
            return Err(not_for_sale(&unsold));
        }
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
        let blocked: Vec<&str> = blocked.iter().map(String::as_str).collect();
        return Err(not_for_sale(&blocked));
    }
    Ok(seats)
}

/// The party that travels: `{quantity, class}` and nothing else.
fn party_of(best: &Ask, show: &Show, legs: &Range<u16>) -> Result<Party, Problem> {
    for (field, set) in [
        ("categories", best.categories.is_some()),
        ("sections", best.sections.is_some()),
        ("zone", best.zone.is_some()),
        ("accessible", best.accessible > 0),
    ] {
        if set {
            let detail = format!(
                "best.{field}: on a train the best available is asked for by quantity and class; name seats for anything else. Nothing was held."
            );
            return Err(Problem::field(&format!("best.{field}"), detail));
        }
    }
    if best.quantity == 0 {
        return Err(Problem::field(
            "best.quantity",
            "best.quantity: must be 1 or more. Nothing was held.",
        ));
    }
    let class = best.class.as_deref();
    Ok(Party {
        quantity: best.quantity,
        class: class_of(show, legs, class, "best.class", NOTHING_HELD)?,
    })
}

/// A class by its name, where it is sold over these legs. `field` is where it was named, `undone` what a refusal says of the
/// call.
///
/// # Errors
/// 422 with the field.
pub fn class_of(
    show: &Show,
    legs: &Range<u16>,
    named: Option<&str>,
    field: &str,
    undone: &str,
) -> Result<u16, Problem> {
    let map = &show.plan.map;
    let is_sold = |key: &str| {
        let run = show.run.as_ref();
        run.is_some_and(|run| run.fare(key, legs).is_some())
    };
    let sold: Vec<&str> = map
        .categories
        .iter()
        .map(|category| category.key.as_str())
        .filter(|key| is_sold(key))
        .collect();
    let wrong = |what: String| {
        let detail = format!(
            "{field}: {what}; this train has {} over this stretch. {undone}",
            sold.join(", ")
        );
        Problem::field(field, detail)
    };
    let named = named.ok_or_else(|| wrong("say which class".to_owned()))?;
    let class = map.category_index(named).filter(|class| {
        let category = map.categories.get(usize::from(*class));
        category.is_some_and(|category| is_sold(&category.key))
    });
    let shown: String = named.chars().take(80).collect();
    class.ok_or_else(|| wrong(format!("\"{shown}\" is not sold")))
}

/// 422 `not_for_sale`.
#[must_use]
pub fn not_for_sale(labels: &[&str]) -> Problem {
    let detail = format!(
        "These seats are not for sale: {}. Nothing was held. Choose others.",
        labels.join(", ")
    );
    Problem::new(422, "not_for_sale", "Seats are not for sale", detail).with("seats", labels)
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
