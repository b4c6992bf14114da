//! Reads and checks a visitor's whole request before seats are held.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use fairgate_model::choosing::rail::TrainParty;
use fairgate_model::choosing::{BestSeatsRequest, BestSeatsWish};
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::shows::Show;
use jiff::Timestamp;
use serde::Deserialize;

use super::refusal::{HoldRefusal, HoldRefusalOutcome, HoldRequestFault};
use super::stretch::{StretchRefusal, WantedRide, class_of, legs_of};

/// How many seats a list in a request may name, at most.
const LIST_MAX: usize = 1_000;

/// The body of `POST /v1/shows/{show}/holds`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = HoldAsk)]
pub struct HoldRequest {
    /// Labels of seats.
    #[serde(default)]
    pub seats: Vec<String>,
    /// Places in general-admission areas, by quantity. They may be asked for together with `seats`.
    #[serde(default)]
    pub areas: Vec<AreaRequest>,
    /// Best available seats. They cannot be asked for together with `seats` or `areas`.
    #[schema(value_type = Option<Object>)]
    pub best: Option<BestSeatsRequest>,
    /// Rail: the code of the station where the journey begins.
    pub from: Option<String>,
    /// Rail: the code of the station where the journey ends.
    pub to: Option<String>,
    /// Rail: when the train leaves `from`, if it calls there more than once. Without it, the ride
    /// is the first one that is still sold.
    #[schema(value_type = Option<String>)]
    pub departs: Option<Timestamp>,
    /// Rail: whether the visitor wants more seats for a journey that they have already ordered.
    #[serde(default)]
    pub again: bool,
}

/// A number of places in one general-admission area.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AreaAsk)]
pub struct AreaRequest {
    /// The area's label.
    pub label: String,
    /// How many places.
    pub quantity: u32,
}

/// The body of `PATCH /v1/holds/{hold}`.
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

/// The seats of a request, resolved on the show's plan.
#[derive(Debug, Clone, PartialEq)]
pub enum SeatSelection {
    /// These seats, and standing places in these areas.
    Named {
        /// Seat indices.
        seats: Vec<u32>,
        /// Area index and quantity.
        areas: Vec<(usize, u32)>,
    },
    /// The best available seats.
    Best(Box<BestSeatsWish>),
    /// Rail: any seats of a class.
    Class(TrainParty),
}

/// The seats of a request, and the legs for which they are wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedSeatRequest {
    /// The seats that are wanted.
    pub wanted: SeatSelection,
    /// The legs. A show without stops has only one.
    pub legs: Range<u16>,
}

impl HoldRequest {
    /// Resolves the names into seats, areas and legs. Every seat must exist, be for sale, and be
    /// named only once.
    ///
    /// # Errors
    /// [`HoldRefusal`] if a field is wrong, a seat is not for sale, more seats are asked for than
    /// the show allows, or the sale has ended.
    pub fn resolve(&self, show: &Show, now_ms: i64) -> Result<ResolvedSeatRequest, HoldRefusal> {
        let ride = WantedRide {
            from: self.from.as_deref(),
            to: self.to.as_deref(),
            departs: self.departs,
        };
        let legs = legs_of(show, ride, now_ms).map_err(nothing_held)?;
        if self.again && show.run.is_none() {
            return Err(HoldRequestFault::AgainWithoutJourneys.into());
        }
        let wanted = match &self.best {
            Some(best) => self.best_wanted(best, show, &legs)?,
            None => self.named_wanted(show, &legs)?,
        };
        Ok(ResolvedSeatRequest { wanted, legs })
    }

    fn best_wanted(
        &self,
        best: &BestSeatsRequest,
        show: &Show,
        legs: &Range<u16>,
    ) -> Result<SeatSelection, HoldRefusal> {
        if !self.seats.is_empty() || !self.areas.is_empty() {
            return Err(HoldRequestFault::BestAndNamed.into());
        }
        for (field, set) in [
            ("best.channels", best.channels.is_some()),
            ("best.ignore_channels", best.ignore_channels),
        ] {
            if set {
                return Err(HoldRequestFault::NoChannels(field).into());
            }
        }
        let limit = show.document.seats_per_visitor;
        if best.quantity > limit {
            return Err(too_many_seats(u64::from(best.quantity), limit));
        }
        if show.run.is_some() {
            return Ok(SeatSelection::Class(party_of(best, show, legs)?));
        }
        if best.class.is_some() {
            return Err(HoldRequestFault::ClassOfHall.into());
        }
        let wish = best.resolve(&show.plan.map, &BTreeMap::new());
        let wish = wish.map_err(HoldRequestFault::BadWish)?;
        Ok(SeatSelection::Best(Box::new(wish)))
    }

    fn named_wanted(&self, show: &Show, legs: &Range<u16>) -> Result<SeatSelection, HoldRefusal> {
        let limit = show.document.seats_per_visitor;
        let asked = self.seats.len() as u64
            + self
                .areas
                .iter()
                .map(|area| u64::from(area.quantity))
                .sum::<u64>();
        if asked == 0 {
            return Err(HoldRequestFault::NothingAsked.into());
        }
        if self.seats.len() > LIST_MAX || asked > u64::from(limit) {
            return Err(too_many_seats(asked, limit));
        }
        if show.run.is_some() && !self.areas.is_empty() {
            return Err(HoldRequestFault::AreasOfTrain.into());
        }
        let seats = seats_by_label(&show.plan.map, &self.seats, "seats", show)?;
        let not_for_sale = seats
            .iter()
            .filter(|seat| show.fare(**seat, legs).is_none());
        let not_for_sale: Vec<String> = not_for_sale
            .map(|seat| show.seat_label(*seat).to_owned())
            .collect();
        if !not_for_sale.is_empty() {
            return Err(HoldRefusal::NotForSale(not_for_sale));
        }
        let areas = self.areas_by_label(&show.plan.map)?;
        Ok(SeatSelection::Named { seats, areas })
    }

    fn areas_by_label(&self, map: &SeatMap) -> Result<Vec<(usize, u32)>, HoldRequestFault> {
        let mut areas: Vec<(usize, u32)> = Vec::new();
        for (i, area_request) in self.areas.iter().enumerate() {
            let index = map
                .areas
                .iter()
                .position(|area| area.label == area_request.label);
            let index = index.ok_or_else(|| HoldRequestFault::UnknownSeats {
                field: format!("areas[{i}].label"),
                labels: vec![area_request.label.clone()],
            })?;
            if area_request.quantity == 0 {
                return Err(HoldRequestFault::NoQuantity(format!("areas[{i}].quantity")));
            }
            if areas.iter().any(|(present, _)| *present == index) {
                return Err(HoldRequestFault::NamedTwice {
                    field: format!("areas[{i}].label"),
                    label: area_request.label.clone(),
                });
            }
            areas.push((index, area_request.quantity));
        }
        Ok(areas)
    }
}

impl HoldChange {
    /// Resolves the names into the seats to add and the seats to remove.
    ///
    /// # Errors
    /// [`HoldRefusal`] if a field is wrong, or if a seat to add is not for sale.
    pub fn resolve(&self, show: &Show) -> Result<(Vec<u32>, Vec<u32>), HoldRefusal> {
        if self.add.is_empty() && self.remove.is_empty() {
            return Err(HoldRequestFault::NothingToChange.into());
        }
        if self.remove.len() > LIST_MAX {
            return Err(HoldRequestFault::TooManyRemoved(LIST_MAX).into());
        }
        if self.add.len() > LIST_MAX {
            let limit = show.document.seats_per_visitor;
            return Err(too_many_seats(self.add.len() as u64, limit));
        }
        let add = seats_by_label(&show.plan.map, &self.add, "add", show)?;
        let mut remove = Vec::with_capacity(self.remove.len());
        let mut unknown_labels = Vec::new();
        for label in &self.remove {
            match show.plan.map.index_of(label) {
                Some(seat) => remove.push(seat),
                None => unknown_labels.push(label.clone()),
            }
        }
        if unknown_labels.is_empty() {
            Ok((add, remove))
        } else {
            Err(unknown_seats("remove", unknown_labels))
        }
    }
}

fn seats_by_label(
    map: &SeatMap,
    labels: &[String],
    field: &str,
    show: &Show,
) -> Result<Vec<u32>, HoldRefusal> {
    let mut seen = HashSet::new();
    let (mut seats, mut unknown_labels, mut blocked) =
        (Vec::with_capacity(labels.len()), Vec::new(), Vec::new());
    for (i, label) in labels.iter().enumerate() {
        let Some(seat) = map.index_of(label) else {
            unknown_labels.push(label.clone());
            continue;
        };
        if let Some(area) = map.area_of(seat) {
            return Err(HoldRefusal::Request(HoldRequestFault::StandingPlace {
                field: format!("{field}[{i}]"),
                label: label.clone(),
                area: area.label.clone(),
            }));
        }
        if !seen.insert(seat) {
            return Err(HoldRefusal::Request(HoldRequestFault::NamedTwice {
                field: format!("{field}[{i}]"),
                label: label.clone(),
            }));
        }
        if show.price(seat).is_none() {
            blocked.push(label.clone());
        }
        seats.push(seat);
    }
    if !unknown_labels.is_empty() {
        return Err(unknown_seats(field, unknown_labels));
    }
    if !blocked.is_empty() {
        return Err(HoldRefusal::NotForSale(blocked));
    }
    Ok(seats)
}

/// Reads `best` as a party of travellers. On a train, `best` may have only `quantity` and `class`.
fn party_of(
    best: &BestSeatsRequest,
    show: &Show,
    legs: &Range<u16>,
) -> Result<TrainParty, HoldRefusal> {
    for (field, set) in [
        ("categories", best.categories.is_some()),
        ("sections", best.sections.is_some()),
        ("zone", best.zone.is_some()),
        ("accessible", best.accessible > 0),
    ] {
        if set {
            return Err(HoldRequestFault::NotOnTrains(field).into());
        }
    }
    if best.quantity == 0 {
        return Err(HoldRequestFault::PartyOfNobody.into());
    }
    let class = class_of(show, legs, best.class.as_deref(), "best.class");
    Ok(TrainParty {
        quantity: best.quantity,
        class: class.map_err(nothing_held)?,
    })
}

fn nothing_held(why: StretchRefusal) -> HoldRefusal {
    HoldRefusal::Stretch(why, HoldRefusalOutcome::NothingHeld)
}

fn too_many_seats(asked: u64, limit: u32) -> HoldRefusal {
    HoldRefusal::TooManySeats {
        have: 0,
        asked,
        limit,
    }
}

fn unknown_seats(field: &str, labels: Vec<String>) -> HoldRefusal {
    HoldRefusal::Request(HoldRequestFault::UnknownSeats {
        field: field.to_owned(),
        labels,
    })
}
