//! Turns a programme's document into shows on sale. Builds the halls' plans, checks the prices
//! against the plans, and writes everything in one transaction.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::plans::pinned::SeatingPlan;
use fairgate_model::shows::document::{ShowDocument, check_show_document};
use jiff::Timestamp;

use super::hall_plans::{ChartSource, HallPlans, new_plans, present_plans};
use super::read::{self, ProgrammeFaults};
use super::refusal::ProgrammePutRefusal;
use super::succession::{SucceededProgramme, Succession};
use super::summary::{ProgrammeSummary, note_kept_times, note_unsold, summary};
use super::{CinemaCatalogue, Programme};
use crate::choices::ImportDecisions;
use crate::inventory::seats::SeatInventory;
use crate::ledger::{
    LeavingDecision, NewProgramme, PlanPin, ProgrammeRefused, ProgrammeSeatCheck,
    ProgrammeSuccession,
};

/// How often a programme is decided about again because somebody else changed the catalogue.
const ATTEMPTS_MAX: u32 = 5;
/// How many seconds a basket lasts, as its visitor sees it.
const HOLD_S: u32 = 300;
/// How many seconds the seats of a basket stay locked after the basket has ended.
const GRACE_S: u32 = 5;
/// How many seats of a showing one visitor may hold and buy.
const SEATS_MAX: u32 = 10;

impl CinemaCatalogue {
    /// Replaces the programme with a new one. With `seats`, a new plan that would move held seats
    /// is refused, and nobody's basket is left out. Without `seats`, a basket that was made on an
    /// old plan is refused at its checkout.
    ///
    /// # Errors
    /// Returns a [`ProgrammePutRefusal`]. Nothing was changed, except perhaps if the ledger failed.
    pub async fn put_programme(
        &self,
        text: &str,
        (charts, seats): (&ChartSource, Option<&SeatInventory>),
        decisions: &ImportDecisions,
        now_ms: i64,
    ) -> Result<ProgrammeSummary, ProgrammePutRefusal> {
        // Some editors write a byte order mark at the beginning of a text.
        let text = text.trim_start_matches('\u{feff}');
        let mut attempts = 0;
        loop {
            attempts += 1;
            let put = self.try_put(text, (charts, seats), decisions, now_ms);
            match put.await {
                Err(ProgrammePutRefusal::Replaced) if attempts < ATTEMPTS_MAX => {}
                put => return put,
            }
        }
    }

    async fn try_put(
        &self,
        text: &str,
        (charts, seats): (&ChartSource, Option<&SeatInventory>),
        decisions: &ImportDecisions,
        now_ms: i64,
    ) -> Result<ProgrammeSummary, ProgrammePutRefusal> {
        self.catalogue.refresh_catalogue().await?;
        // The version is read before the shows. If a show changes after that, the ledger refuses
        // what was decided.
        let catalogue = self.catalogue.read_version().await;
        self.refresh_programme().await?;
        let mut faults = ProgrammeFaults::default();
        let programme = read::read_programme(text, &mut faults)
            .map_err(|fault| ProgrammePutRefusal::Faulty(vec![fault]))?;
        let plans = self.build_hall_plans(&programme, charts, &mut faults);
        let plans = plans.await?;
        let SucceededProgramme {
            programme,
            mut succession,
            unsold,
        } = self.succeed(programme, decisions, now_ms)?;
        succession.catalogue = Some(catalogue);
        let shows = self.show_documents(&programme, &plans, &mut faults);
        if !faults.is_empty() {
            return Err(ProgrammePutRefusal::Faulty(faults.with_lines(text)));
        }
        let pinned = self.pinned(&shows);
        if let Some(seats) = seats {
            self.check_held_seats_stay(&pinned, &plans, seats).await?;
            self.find_held(&mut succession, seats).await;
        }
        let left_out = self.newly_left_out(&succession);
        let new = NewProgramme {
            document: stored_document(&programme)?,
            plans: new_plans(&plans),
            present_plans: present_plans(&plans),
            shows,
            old_plans: plan_pins(&pinned),
            keeps: stored_seat_check(pinned, plans),
            succession,
        };
        let put = match self.ledger.put_programme(new, now_ms).await {
            Err(ProgrammeRefused::Preview(would)) => *would,
            put => put.map_err(|refused| self.refusal_with_labels(refused))?,
        };
        self.catalogue.refresh_catalogue().await?;
        self.refresh_programme().await?;
        note_kept_times(&programme, &put.kept_times, &mut faults);
        note_unsold(&unsold, &mut faults);
        Ok(ProgrammeSummary {
            unsold_showings: unsold.len(),
            left_out,
            preview: decisions.is_preview,
            notes: faults.notes_with_lines(text),
            ..summary(&programme, &put)
        })
    }

    /// Gives the showings of a new programme their shows, and decides about earlier ones.
    fn succeed(
        &self,
        programme: Programme,
        decisions: &ImportDecisions,
        now_ms: i64,
    ) -> Result<SucceededProgramme, ProgrammePutRefusal> {
        let index = self.index();
        let succession = Succession {
            earlier: index.programme(),
            stored: &|show| self.catalogue.show(show),
            choices: &decisions.choices,
            now: Timestamp::from_millisecond(now_ms).unwrap_or_default(),
        };
        let succeeded = succession.succeed(programme);
        let mut succeeded = succeeded.map_err(ProgrammePutRefusal::Undecided)?;
        succeeded.succession.is_preview = decisions.is_preview;
        Ok(succeeded)
    }

    /// Finds out which of the showings that the new programme does not have are held.
    async fn find_held(&self, succession: &mut ProgrammeSuccession, seats: &SeatInventory) {
        for leaving in &mut succession.leaving {
            if let LeavingDecision::Withdrawn { is_held, .. } = &mut leaving.becomes {
                let held = seats.held_seats(&self.catalogue, &leaving.show).await;
                *is_held = !held.is_empty();
            }
        }
    }

    /// Returns the showings that are sold now and will not be sold any more, because the new
    /// programme does not have them.
    fn newly_left_out(&self, succession: &ProgrammeSuccession) -> Vec<ShowId> {
        let index = self.index();
        let before: HashSet<&ShowId> = index
            .programme()
            .left_out
            .iter()
            .map(|showing| &showing.show)
            .collect();
        let leaving = succession.leaving.iter();
        let withdrawn = leaving.filter(|leaving| {
            matches!(leaving.becomes, LeavingDecision::Withdrawn { .. })
                && !before.contains(&leaving.show)
        });
        withdrawn.map(|leaving| leaving.show.clone()).collect()
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
            ProgrammeRefused::Undecided(shows) => ProgrammePutRefusal::Undecided(shows),
            ProgrammeRefused::Replaced | ProgrammeRefused::Preview(_) => {
                ProgrammePutRefusal::Replaced
            }
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

/// Returns a programme as the ledger stores it.
fn stored_document(programme: &Programme) -> Result<String, LedgerError> {
    serde_json::to_string(programme).map_err(|error| LedgerError::Corrupt(error.to_string()))
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
