//! The plans of a programme's halls: built from the programme, or those that the halls have.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::counted::counted;
use fairgate_model::ids::VenueId;
use fairgate_model::plans::pinned::SeatingPlan;
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::plans::{self, PlanFormat};
use sha2::{Digest, Sha256};

use super::read::ProgrammeFaults;
use super::{CinemaCatalogue, Hall, Programme};
use crate::ledger::NewHallPlan;

/// Where a hall's best seats are, as a share of the hall's depth, if neither its chart nor the
/// programme says it. At this depth the screen fills the view, and nobody has to raise their head.
const FOCAL_DEPTH: f32 = 2.0 / 3.0;
/// How many faults of one chart are reported, at most. When the chart is put as a venue's plan, all
/// its faults are reported.
const CHART_FAULTS_SHOWN_MAX: usize = 5;
/// Where to find the charts that halls name.
#[derive(Debug, Clone)]
pub enum ChartSource {
    /// In this folder, which contains the programme's file.
    In(PathBuf),
    /// The programme came in a request, without its charts.
    Nowhere,
}

/// A plan and the form in which it is stored. Halls with the same plan share one value.
pub(super) struct ParsedHallPlan {
    map: SeatMap,
    text: Arc<str>,
    digest: [u8; 32],
}

/// A hall's plan: the plan in the programme or, if there is none, the venue's newest plan.
pub(super) enum HallPlan {
    New(Arc<ParsedHallPlan>),
    Present(Arc<SeatingPlan>),
}

impl HallPlan {
    pub(super) fn seat_map(&self) -> &SeatMap {
        match self {
            Self::New(drawn) => &drawn.map,
            Self::Present(plan) => &plan.map,
        }
    }
}

/// The plan of each hall.
pub(super) type HallPlans = HashMap<VenueId, HallPlan>;

impl CinemaCatalogue {
    /// Returns the plans of all halls. Adds a fault for each plan that is missing or cannot be
    /// built.
    pub(super) async fn build_hall_plans(
        &self,
        programme: &Programme,
        charts: &ChartSource,
        faults: &mut ProgrammeFaults,
    ) -> Result<HallPlans, LedgerError> {
        let mut built: HashMap<_, Result<Arc<ParsedHallPlan>, String>> = HashMap::new();
        let mut plans = HallPlans::new();
        for hall in &programme.halls {
            let plan = match &hall.plan {
                Some(text) => {
                    let known = built
                        .entry((text, hall.focal_depth.map(f32::to_bits)))
                        .or_insert_with(|| build_hall_plan(text, hall.focal_depth, charts));
                    known.clone().map(HallPlan::New)
                }
                None => {
                    let present = self.catalogue.newest_plan(&hall.id).await?;
                    present.map(HallPlan::Present).ok_or_else(|| {
                        format!(
                            "The hall has no plan, and no venue \"{}\" with a plan exists.",
                            hall.id
                        )
                    })
                }
            };
            match plan {
                Ok(plan) => drop(plans.insert(hall.id.clone(), plan)),
                Err(message) => faults.add(plan_path(hall), "bad_plan", message),
            }
        }
        Ok(plans)
    }
}

pub(super) fn present_plans(plans: &HallPlans) -> HashMap<VenueId, u32> {
    let present = plans.iter().filter_map(|(venue, plan)| match plan {
        HallPlan::New(_) => None,
        HallPlan::Present(plan) => Some((venue.clone(), plan.version)),
    });
    present.collect()
}

pub(super) fn new_plans(plans: &HallPlans) -> Vec<NewHallPlan> {
    let mut new: Vec<_> = plans
        .iter()
        .filter_map(|(venue, plan)| match plan {
            HallPlan::New(drawn) => Some(NewHallPlan {
                venue: venue.clone(),
                plan: Arc::clone(&drawn.text),
                digest: drawn.digest,
            }),
            HallPlan::Present(_) => None,
        })
        .collect();
    new.sort_by(|a, b| a.venue.cmp(&b.venue));
    new
}

fn plan_path(hall: &Hall) -> String {
    format!("{}.plan", hall.at)
}

/// Builds a plan from `grid:ROWSxSEATS`, or from `fairgate:FILE` or `seatsio:FILE`, which name a
/// plan or chart in the programme's folder. `focal_depth` sets the plan's focal point, as a share
/// of the plan's depth. Without `focal_depth`, a plan from a file keeps its own focal point if it
/// has one. All other plans get [`FOCAL_DEPTH`].
fn build_hall_plan(
    plan: &str,
    focal_depth: Option<f32>,
    charts: &ChartSource,
) -> Result<Arc<ParsedHallPlan>, String> {
    let format_and_source = plan.split_once(':');
    let format_and_source =
        format_and_source.and_then(|(format, source)| Some((PlanFormat::parse(format)?, source)));
    let parsed = match (format_and_source, charts) {
        (Some((format @ PlanFormat::Grid, size)), _) => plans::parse(format, size),
        (
            Some((format @ (PlanFormat::Fairgate | PlanFormat::Seatsio), file)),
            ChartSource::In(folder),
        ) => plans::parse(format, &read_chart_file(folder, file)?),
        (Some((PlanFormat::Fairgate | PlanFormat::Seatsio, _)), ChartSource::Nowhere) => {
            return Err("A chart in a file comes with `booking import cinema` only. Put the hall as a venue with its chart first, and leave the plan out here.".to_owned());
        }
        (None, _) => {
            return Err(
                "A plan is \"grid:ROWSxSEATS\", or \"fairgate:FILE\" or \"seatsio:FILE\" with the file beside the programme."
                    .to_owned(),
            );
        }
    };
    let map = parsed.map_err(|faults| {
        let shown: Vec<_> = faults
            .iter()
            .take(CHART_FAULTS_SHOWN_MAX)
            .map(ToString::to_string)
            .collect();
        let count = counted(faults.len(), "fault", "faults");
        format!("The plan has {count}: {}", shown.join("; "))
    })?;
    let from_file = matches!(
        format_and_source,
        Some((PlanFormat::Fairgate | PlanFormat::Seatsio, _))
    );
    let keeps_own_focal = from_file && map.focal.is_some();
    let map = match focal_depth {
        Some(depth) => map.with_focal_depth(depth),
        None if keeps_own_focal => map,
        None => map.with_focal_depth(FOCAL_DEPTH),
    };
    let text = serde_json::to_string(&map).map_err(|error| error.to_string())?;
    Ok(Arc::new(ParsedHallPlan {
        digest: Sha256::digest(&text).into(),
        text: text.into(),
        map,
    }))
}

fn read_chart_file(folder: &Path, file: &str) -> Result<String, String> {
    let path = folder.join(file);
    std::fs::read_to_string(&path)
        .map_err(|error| format!("{} cannot be read: {error}.", path.display()))
}
