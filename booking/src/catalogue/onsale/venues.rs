//! Compares the venues of an on-sale file with those in force.

use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::ids::VenueId;
use fairgate_model::onsale::merge::{Fields, merge_fields};
use fairgate_model::onsale::{OnsaleItem, OnsaleReport, OnsaleVenue};
use fairgate_model::plans::pinned::SeatingPlan;
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::plans::{self, PlanFormat};
use fairgate_model::venues::VenueLocation;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{ComparedVenue, Comparison, corrupt, value_or_fault};
use crate::catalogue::{Catalogue, geometry};
use crate::ledger::{NewVenuePlan, OnsaleVenueWrite};

impl Catalogue {
    pub(super) async fn compare_venue(
        &self,
        (item, venue): (&OnsaleItem, &OnsaleVenue),
        applied: Option<&Fields>,
        compared: &mut Comparison,
    ) -> Result<(), LedgerError> {
        let report = &mut compared.report;
        let id = value_or_fault(venue.id.parse::<VenueId>(), (item, "id"), report);
        let location = read_location(&venue.location, item, report);
        let map = read_plan(venue.clone(), item, report).await;
        let (Some(id), Some(location), Some(map)) = (id, location, map) else {
            return Ok(());
        };
        let plan = stored_form(&map)?;
        let file = venue_fields(&plan.digest, &location);
        compared.keep_entry(item, applied, &file);
        let Some(newest) = self.newest_plan(&id).await? else {
            compared.report.create.push(item.clone());
            let of_file = ComparedVenue {
                plan: Arc::new(unstored(map)?),
                is_new_plan: true,
            };
            compared.venues.insert(id.clone(), of_file);
            let plan = Some(plan);
            compared
                .venue_writes
                .push(OnsaleVenueWrite { id, plan, location });
            return Ok(());
        };
        let live_digest = stored_form(&newest.map)?.digest;
        let live_location = self.shared.venues.read().get(&id).cloned();
        let live_location = live_location.unwrap_or_default();
        let live = venue_fields(&live_digest, &live_location);
        let merged = merge_fields(item, applied, &live, &file, &mut compared.report);
        let is_new_plan = live_digest != plan.digest && merged.get("plan") == file.get("plan");
        let of_file = ComparedVenue {
            plan: if is_new_plan {
                Arc::new(unstored(map)?)
            } else {
                newest
            },
            is_new_plan,
        };
        compared.venues.insert(id.clone(), of_file);
        let location = location_of(&merged);
        if is_new_plan || location != live_location {
            let plan = is_new_plan.then_some(plan);
            compared
                .venue_writes
                .push(OnsaleVenueWrite { id, plan, location });
        }
        Ok(())
    }
}

fn read_location(
    location: &VenueLocation,
    item: &OnsaleItem,
    report: &mut OnsaleReport,
) -> Option<VenueLocation> {
    match location.clone().checked() {
        Ok(location) => Some(location),
        Err(faults) => {
            for fault in faults {
                report.add_fault(item, &fault.field, fault.code, fault.detail);
            }
            None
        }
    }
}

/// Reads a venue's plan, or reports each of its faults.
async fn read_plan(
    venue: OnsaleVenue,
    item: &OnsaleItem,
    report: &mut OnsaleReport,
) -> Option<SeatMap> {
    let format = match venue.format.as_str() {
        "grid" => PlanFormat::Grid,
        "fairgate" => PlanFormat::Fairgate,
        "seatsio" => PlanFormat::Seatsio,
        other => {
            let detail = format!("this version reads grid, fairgate and seatsio, not {other}");
            report.add_fault(item, "plan", "not_available", detail);
            return None;
        }
    };
    let read = tokio::task::spawn_blocking(move || plans::parse(format, &venue.plan)).await;
    match read {
        Ok(Ok(map)) => Some(map),
        Ok(Err(faults)) => {
            for fault in faults {
                let detail = format!("{}: {}", fault.at, fault.message);
                report.add_fault(item, "plan", "plan_invalid", detail);
            }
            None
        }
        Err(error) => {
            tracing::error!(%error, "reading a plan failed");
            let detail = "the plan could not be read".to_owned();
            report.add_fault(item, "plan", "plan_invalid", detail);
            None
        }
    }
}

fn stored_form(map: &SeatMap) -> Result<NewVenuePlan, LedgerError> {
    let plan = serde_json::to_string(map).map_err(|error| corrupt(&error))?;
    let digest = Sha256::digest(&plan).into();
    Ok(NewVenuePlan { plan, digest })
}

/// Makes a plan that is not stored yet. It has no version.
fn unstored(map: SeatMap) -> Result<SeatingPlan, LedgerError> {
    let geometry = geometry(&map).map_err(|error| corrupt(&error))?;
    Ok(SeatingPlan {
        version: 0,
        map,
        geometry,
    })
}

fn venue_fields(digest: &[u8; 32], location: &VenueLocation) -> Fields {
    let texts = [
        ("plan", &Some(hex::encode(digest))),
        ("name", &location.name),
        ("city", &location.city),
        ("address", &location.address),
        ("time_zone", &location.time_zone),
    ];
    let fields = texts.into_iter().filter_map(|(field, text)| {
        let text = text.clone()?;
        Some((field.to_owned(), Value::String(text)))
    });
    fields.collect()
}

fn location_of(fields: &Fields) -> VenueLocation {
    let text = |field: &str| fields.get(field).and_then(Value::as_str).map(str::to_owned);
    VenueLocation {
        name: text("name"),
        city: text("city"),
        address: text("address"),
        time_zone: text("time_zone"),
    }
}
