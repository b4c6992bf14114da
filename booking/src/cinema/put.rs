//! Turns a programme's document into shows on sale. Builds the halls' plans, checks the prices
//! against the plans, and writes everything in one transaction.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::counted::counted;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::plans::pinned::SeatingPlan;
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::plans::{self, PlanFormat};
use fairgate_model::shows::document::{ShowDocument, check_show_document};
use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::read::{self, ProgrammeFault, ProgrammeFaults, ProgrammeNote};
use super::{CinemaCatalogue, Hall, Programme};
use crate::inventory::seats::SeatInventory;
use crate::ledger::{NewHallPlan, NewProgramme, PlanPin, ProgrammeRefused, ProgrammeSeatCheck};

/// How many seconds a basket lasts, as its visitor sees it.
const HOLD_S: u32 = 300;
/// How many seconds the seats of a basket stay locked after the basket has ended.
const GRACE_S: u32 = 5;
/// How many seats of a showing one visitor may hold and buy.
const SEATS_MAX: u32 = 10;
/// Where a hall's best seats are, as a share of the hall's depth, if neither its chart nor the
/// programme says it. At this depth the screen fills the view, and nobody has to raise their head.
const FOCAL_DEPTH: f32 = 2.0 / 3.0;
/// How many faults of one chart are reported, at most. When the chart is put as a venue's plan, all
/// its faults are reported.
const CHART_FAULTS_SHOWN_MAX: usize = 5;
/// How many shows a refusal names in its text, at most.
const IDS_SHOWN_MAX: usize = 10;

/// Where to find the charts that halls name.
#[derive(Debug, Clone)]
pub enum ChartSource {
    /// In this folder, which contains the programme's file.
    In(PathBuf),
    /// The programme came in a request, without its charts.
    Nowhere,
}

/// The size of a programme, and what its import changed.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
#[schema(as = Changed)]
pub struct ProgrammeSummary {
    /// Cities in the programme.
    pub cities: usize,
    /// Cinemas.
    pub cinemas: usize,
    /// Halls.
    pub halls: usize,
    /// Films.
    pub films: usize,
    /// Showings.
    pub showings: usize,
    /// How many halls got a new version of their plan.
    pub new_plans: usize,
    /// Showings that did not exist before.
    pub new_showings: usize,
    /// Showings that existed before and were changed.
    pub changed_showings: usize,
    /// Shows of the earlier programme that have not begun and are not in this programme. Cinema
    /// searches no longer find them, but people who know the address of such a show can still buy
    /// its seats.
    #[schema(value_type = Vec<String>)]
    pub left_out: Vec<ShowId>,
    /// The corrections that were made while the document was read, and the postponed showings that
    /// keep their time.
    pub notes: Vec<ProgrammeNote>,
}

/// Why a programme was not accepted. Nothing was changed, except perhaps if the ledger failed.
#[derive(Debug, thiserror::Error)]
pub enum ProgrammePutRefusal {
    /// Every fault of the document.
    #[error("the programme has {}", counted(.0.len(), "fault", "faults"))]
    Faulty(Vec<ProgrammeFault>),
    /// New plans would move seats that are held or sold. The list names the shows and the seats'
    /// labels.
    #[error("new plans move held or sold seats of {}", counted(.0.len(), "showing", "showings"))]
    PlanInUse(Vec<(ShowId, Vec<String>)>),
    /// Seats of these shows were sold in another currency.
    #[error("{} sold in another currency: keep that currency, or give each of them a new id", counted(.0.len(), "showing was", "showings were"))]
    CurrencyInUse(Vec<ShowId>),
    /// Seats of these shows were ordered, and the programme has another time or hall for them.
    #[error("the programme has another time or hall for {} with orders: {}. Keep their times and halls, or postpone them", counted(.0.len(), "showing", "showings"), shown_ids(.0))]
    PostponeInstead(Vec<ShowId>),
    /// The ledger failed. If it failed after the programme was stored, the new programme is in
    /// force.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Returns the first ids of a list as a text.
fn shown_ids(shows: &[ShowId]) -> String {
    let shown: Vec<&str> = shows
        .iter()
        .take(IDS_SHOWN_MAX)
        .map(ShowId::as_str)
        .collect();
    let more = if shows.len() > IDS_SHOWN_MAX {
        ", …"
    } else {
        ""
    };
    shown.join(", ") + more
}

/// A plan and the form in which it is stored. Halls with the same plan share one value.
struct ParsedHallPlan {
    map: SeatMap,
    text: Arc<str>,
    digest: [u8; 32],
}

/// A hall's plan: the plan in the programme or, if there is none, the venue's newest plan.
enum HallPlan {
    New(Arc<ParsedHallPlan>),
    Present(Arc<SeatingPlan>),
}

impl HallPlan {
    fn seat_map(&self) -> &SeatMap {
        match self {
            Self::New(drawn) => &drawn.map,
            Self::Present(plan) => &plan.map,
        }
    }
}

type HallPlans = HashMap<VenueId, HallPlan>;

impl CinemaCatalogue {
    /// Replaces the programme with a new one. With `seats`, a new plan that would move held seats
    /// is refused. Without `seats`, a basket that was made on an old plan is refused at its
    /// checkout.
    ///
    /// # Errors
    /// Returns a [`ProgrammePutRefusal`]. Nothing was changed, except perhaps if the ledger failed.
    pub async fn put_programme(
        &self,
        text: &str,
        charts: &ChartSource,
        seats: Option<&SeatInventory>,
        now_ms: i64,
    ) -> Result<ProgrammeSummary, ProgrammePutRefusal> {
        self.catalogue.refresh_catalogue().await?;
        self.refresh_programme().await?;
        // Some editors write a byte order mark at the beginning of a text.
        let text = text.trim_start_matches('\u{feff}');
        let mut faults = ProgrammeFaults::default();
        let programme = read::read_programme(text, &mut faults)
            .map_err(|fault| ProgrammePutRefusal::Faulty(vec![fault]))?;
        let plans = self
            .build_hall_plans(&programme, charts, &mut faults)
            .await?;
        let shows = self.show_documents(&programme, &plans, &mut faults);
        if !faults.is_empty() {
            return Err(ProgrammePutRefusal::Faulty(faults.with_lines(text)));
        }
        let pinned = self.pinned(&shows);
        if let Some(seats) = seats {
            self.check_held_seats_stay(&pinned, &plans, seats).await?;
        }
        let left_out = self.index().left_out_by(&programme, now_ms);
        let document = serde_json::to_string(&programme)
            .map_err(|error| LedgerError::Corrupt(error.to_string()))?;
        let new = NewProgramme {
            document,
            plans: new_plans(&plans),
            present_plans: present_plans(&plans),
            shows,
            old_plans: plan_pins(&pinned),
            keeps: stored_seat_check(pinned, plans),
        };
        let put = self.ledger.put_programme(new, now_ms).await;
        let put = put.map_err(|refused| self.refusal_with_labels(refused))?;
        self.catalogue.refresh_catalogue().await?;
        self.refresh_programme().await?;
        note_kept_times(&programme, &put.kept_times, &mut faults);
        Ok(ProgrammeSummary {
            cities: programme.cities.len(),
            cinemas: programme.cinemas.len(),
            halls: programme.halls.len(),
            films: programme.films.len(),
            showings: programme.showings.len(),
            new_plans: put.plans,
            new_showings: put.new,
            changed_showings: put.changed,
            left_out,
            notes: faults.notes_with_lines(text),
        })
    }

    /// Returns the plans of all halls. Adds a fault for each plan that is missing or cannot be
    /// built.
    async fn build_hall_plans(
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

    /// Returns the documents of the shows. Adds a fault for each price that does not fit the hall's
    /// plan. Also adds a fault for each id that belongs to a show at another venue, if that show is
    /// not in the current programme.
    fn show_documents(
        &self,
        programme: &Programme,
        plans: &HallPlans,
        faults: &mut ProgrammeFaults,
    ) -> Vec<(ShowId, ShowDocument)> {
        let titles: HashMap<&str, &str> = programme
            .films
            .iter()
            .map(|film| (film.id.as_str(), film.title.as_str()))
            .collect();
        let before = self.index();
        let mut shows = Vec::with_capacity(programme.showings.len());
        for showing in &programme.showings {
            let (Some(plan), Some(title)) =
                (plans.get(&showing.hall), titles.get(showing.film.as_str()))
            else {
                // The fault of the hall or the film is in `faults` already.
                continue;
            };
            let document = serde_json::from_value(serde_json::json!({
                "venue": showing.hall, "title": title, "starts_at": showing.starts_at,
                "currency": programme.currency, "prices": showing.prices,
                "hold_s": HOLD_S, "grace_s": GRACE_S, "seats_per_visitor": SEATS_MAX,
                "walk_in": true,
            }));
            let document: ShowDocument = match document {
                Ok(document) => document,
                Err(error) => {
                    faults.add(&showing.at, "bad_showing", error.to_string());
                    continue;
                }
            };
            let rules = self.catalogue.rules(document.currency);
            let faults_of_show = check_show_document(&document, plan.seat_map(), rules).err();
            for fault in faults_of_show.unwrap_or_default() {
                let message = format!("{}.", fault.detail);
                faults.add(
                    format!("{}.{}", showing.at, fault.field),
                    "bad_price",
                    message,
                );
            }
            let foreign = self.catalogue.show(&showing.show).is_some_and(|present| {
                present.document.venue != showing.hall && !before.has_show(&showing.show)
            });
            if foreign {
                let message = format!(
                    "There is a show \"{}\" already that belongs to no cinema. Give the showing another id.",
                    showing.show
                );
                faults.add(format!("{}.id", showing.at), "id_taken", message);
            }
            shows.push((showing.show.clone(), document));
        }
        shows
    }

    /// Returns the shows that exist already.
    fn pinned(&self, shows: &[(ShowId, ShowDocument)]) -> PinnedPlans {
        let pinned = shows.iter().filter_map(|(id, document)| {
            let present = self.catalogue.show(id)?;
            let pinned = PinnedHallPlan {
                plan: Arc::clone(&present.plan),
                pin: PlanPin {
                    venue: present.document.venue.clone(),
                    version: present.plan.version,
                },
                next_hall: document.venue.clone(),
            };
            Some((id.clone(), pinned))
        });
        pinned.collect()
    }

    /// Refuses new plans that would move held seats.
    async fn check_held_seats_stay(
        &self,
        pinned: &PinnedPlans,
        plans: &HallPlans,
        seats: &SeatInventory,
    ) -> Result<(), ProgrammePutRefusal> {
        let mut differs: HashMap<(&VenueId, &VenueId, u32), bool> = HashMap::new();
        let mut in_use = Vec::new();
        for (id, pinned) in pinned {
            let (old, pin) = (&pinned.plan, &pinned.pin);
            let Some(plan) = plans.get(&pinned.next_hall) else {
                continue;
            };
            let differ = differs.entry((&pinned.next_hall, &pin.venue, pin.version));
            if !*differ.or_insert_with(|| old.map != *plan.seat_map()) {
                continue;
            }
            let mut held = seats.held_seats(&self.catalogue, id).await;
            held.retain(|seat| !old.map.keeps(plan.seat_map(), *seat));
            if !held.is_empty() {
                in_use.push((id.clone(), self.seat_labels(id, &held)));
            }
        }
        if in_use.is_empty() {
            return Ok(());
        }
        in_use.sort();
        Err(ProgrammePutRefusal::PlanInUse(in_use))
    }

    fn refusal_with_labels(&self, refused: ProgrammeRefused) -> ProgrammePutRefusal {
        match refused {
            ProgrammeRefused::CurrencyInUse(shows) => ProgrammePutRefusal::CurrencyInUse(shows),
            ProgrammeRefused::PostponeInstead(shows) => ProgrammePutRefusal::PostponeInstead(shows),
            ProgrammeRefused::Ledger(error) => ProgrammePutRefusal::Ledger(error),
            ProgrammeRefused::PlanInUse(shows) => {
                let labelled = shows.into_iter().map(|(id, seats)| {
                    let labels = self.seat_labels(&id, &seats);
                    (id, labels)
                });
                ProgrammePutRefusal::PlanInUse(labelled.collect())
            }
        }
    }

    fn seat_labels(&self, id: &ShowId, seats: &[u32]) -> Vec<String> {
        let show = self.catalogue.show(id);
        let label = |seat: &u32| show.as_ref().map(|show| show.seat_label(*seat).to_owned());
        seats.iter().filter_map(label).collect()
    }
}

/// The plan that an existing show pins now, and the hall whose plan it will pin.
struct PinnedHallPlan {
    plan: Arc<SeatingPlan>,
    pin: PlanPin,
    next_hall: VenueId,
}

type PinnedPlans = HashMap<ShowId, PinnedHallPlan>;

fn plan_pins(pinned: &PinnedPlans) -> HashMap<ShowId, PlanPin> {
    let pin = |(show, pinned): (&ShowId, &PinnedHallPlan)| (show.clone(), pinned.pin.clone());
    pinned.iter().map(pin).collect()
}

/// Returns the check that the ledger runs on each seat in use. The check passes if the new plan
/// keeps the seat as it is. If another node stored a show in the meantime, the show is unknown
/// here, and the check fails for all its seats.
fn stored_seat_check(pinned: PinnedPlans, plans: HallPlans) -> ProgrammeSeatCheck {
    Box::new(move |show, seat| {
        let Some(pinned) = pinned.get(show) else {
            return false;
        };
        let plan = plans.get(&pinned.next_hall);
        plan.is_some_and(|plan| pinned.plan.map.keeps(plan.seat_map(), seat))
    })
}

fn present_plans(plans: &HallPlans) -> HashMap<VenueId, u32> {
    let present = plans.iter().filter_map(|(venue, plan)| match plan {
        HallPlan::New(_) => None,
        HallPlan::Present(plan) => Some((venue.clone(), plan.version)),
    });
    present.collect()
}

fn new_plans(plans: &HallPlans) -> Vec<NewHallPlan> {
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

/// Adds a note for each postponed showing that keeps its time although the programme has another
/// one.
fn note_kept_times(
    programme: &Programme,
    kept_times: &[(ShowId, Timestamp)],
    faults: &mut ProgrammeFaults,
) {
    let kept: HashMap<_, _> = kept_times.iter().map(|(show, time)| (show, time)).collect();
    for showing in &programme.showings {
        if let Some(time) = kept.get(&showing.show) {
            let message = format!(
                "This showing was postponed to {time} and keeps that time. To change it, postpone \
                 the showing again. To write the new time here, also write \"id\": \"{}\"; \
                 otherwise this becomes another show, and its seats are sold once more.",
                showing.show
            );
            faults.note(format!("{}.starts_at", showing.at), message);
        }
    }
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
