//! Applies booking's part of an on-sale file. Every venue and show is compared with what is in
//! force and with what the file said when it was last applied. If there is a fault or a conflict,
//! nothing is written; otherwise everything is written in one transaction. Before the rooms of the
//! file are stored, the shows that these would sell as they are now are withheld.

mod shows;
mod venues;
mod warnings;
mod withholding;

use std::collections::HashMap;
use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::onsale::merge::Fields;
use fairgate_model::onsale::{OnsaleItem, OnsaleKind, OnsaleReport, OnsaleRequest, OnsaleStep};
use fairgate_model::plans::pinned::SeatingPlan;
use fairgate_model::shows::document::ShowDocument;
use serde_json::Value;

use super::Catalogue;
use super::put::ShowPutRefusal;
use crate::ledger::{
    AppliedEntry, NewOnsale, OnsaleRefused, OnsaleShowWrite, OnsaleVenueWrite, UnchangedSeatCheck,
};
use shows::add_refusal;

/// How often a file is compared again if the catalogue changes in between.
const TRIES_MAX: u32 = 5;

/// The seats that baskets and unpaid orders hold, by the show.
pub type HeldSeats = HashMap<String, Vec<u32>>;

/// A venue of the file after it was compared.
struct ComparedVenue {
    /// The plan that shows of the file are checked against.
    plan: Arc<SeatingPlan>,
    /// Whether the apply writes this plan.
    is_new_plan: bool,
}

/// What the comparison has found so far.
#[derive(Default)]
struct Comparison {
    report: OnsaleReport,
    venues: HashMap<VenueId, ComparedVenue>,
    venue_writes: Vec<OnsaleVenueWrite>,
    show_writes: Vec<OnsaleShowWrite>,
    /// The checks of the shows in `show_writes`, in the same order.
    checks: Vec<Option<UnchangedSeatCheck>>,
    /// The entries that are not the same as when the file was last applied.
    applied: Vec<AppliedEntry>,
    /// All shows of the file, as they will be.
    shows: Vec<(ShowId, ShowDocument)>,
}

impl Comparison {
    fn writes_nothing(&self) -> bool {
        self.venue_writes.is_empty() && self.show_writes.is_empty() && self.applied.is_empty()
    }

    /// Keeps an entry of the file for the next apply, unless it is the same as the last time.
    fn keep_entry(&mut self, item: &OnsaleItem, applied: Option<&Fields>, file: &Fields) {
        if applied != Some(file) {
            self.applied.push(AppliedEntry {
                kind: item.kind.as_str().to_owned(),
                id: item.id.clone(),
                document: Value::Object(file.clone()).to_string(),
            });
        }
    }
}

/// The entries of on-sale files as they were last applied.
struct AppliedEntries(HashMap<(String, String), Fields>);

impl AppliedEntries {
    fn of(&self, item: &OnsaleItem) -> Option<&Fields> {
        let key = (item.kind.as_str().to_owned(), item.id.clone());
        self.0.get(&key)
    }
}

/// What a step of an apply has done.
#[derive(Debug)]
pub enum OnsaleStepDone {
    /// Nothing was asked for, or something stands against the file.
    Nothing,
    /// These shows are kept off sale until the file is written.
    Withheld(Vec<ShowId>),
    /// The whole file is written.
    Written,
}

impl Catalogue {
    /// Reports what an on-sale file changes. If there is neither a fault nor a conflict, also does
    /// the step that the request names. `held` has the held
    /// seats of the file's shows. If an order was made meanwhile and the ledger refuses a show,
    /// nothing is written, and the refusal is a fault of the report.
    ///
    /// # Errors
    /// Fails if the ledger did not answer, or if somebody kept changing the catalogue.
    pub async fn apply_onsale(
        &self,
        request: &OnsaleRequest,
        held: &HeldSeats,
        now_ms: i64,
    ) -> Result<(OnsaleReport, OnsaleStepDone), LedgerError> {
        for _ in 0..TRIES_MAX {
            self.refresh_catalogue().await?;
            let version = self.read_version().await;
            let mut compared = self.compare_onsale(request, held).await?;
            self.add_warnings(request, &mut compared, now_ms).await?;
            if request.step == OnsaleStep::Compare || !compared.report.is_applicable() {
                return Ok((compared.report, OnsaleStepDone::Nothing));
            }
            let mut report = std::mem::take(&mut compared.report);
            let done = if request.step == OnsaleStep::Write {
                let written = self.write_onsale(version, request, compared, now_ms);
                written.await.map(|()| OnsaleStepDone::Written)
            } else {
                let shows = self.shows_to_withhold(request, &compared);
                drop(compared);
                let withheld = self.withhold_shows(version, shows).await;
                withheld.map(OnsaleStepDone::Withheld)
            };
            match done {
                Ok(done) => return Ok((report, done)),
                Err(OnsaleRefused::ChangedMeanwhile) => {}
                Err(OnsaleRefused::Show(id, refused)) => {
                    let present = self.show(&id);
                    let refused = ShowPutRefusal::from_ledger(refused, present.as_deref());
                    let item = item_of(OnsaleKind::Show, id.as_str());
                    add_refusal(refused, &item, &mut report);
                    return Ok((report, OnsaleStepDone::Nothing));
                }
                Err(OnsaleRefused::Ledger(error)) => return Err(error),
            }
        }
        Err(LedgerError::Overtaken(
            "Somebody kept changing venues and shows".to_owned(),
        ))
    }

    async fn compare_onsale(
        &self,
        request: &OnsaleRequest,
        held: &HeldSeats,
    ) -> Result<Comparison, LedgerError> {
        let entries = self.ledger.applied_entries().await?.into_iter();
        let applied = entries.filter_map(|entry| {
            let fields = serde_json::from_str(&entry.document).ok()?;
            Some(((entry.kind, entry.id), fields))
        });
        let applied = AppliedEntries(applied.collect());
        let mut compared = Comparison::default();
        for venue in &request.venues {
            let item = item_of(OnsaleKind::Venue, &venue.id);
            let before = applied.of(&item);
            self.compare_venue((&item, venue), before, &mut compared)
                .await?;
        }
        for show in &request.shows {
            let item = item_of(OnsaleKind::Show, &show.id);
            let before = applied.of(&item);
            self.compare_show((&item, show), before, held, &mut compared)
                .await?;
        }
        Ok(compared)
    }

    async fn write_onsale(
        &self,
        compared_with: u64,
        request: &OnsaleRequest,
        compared: Comparison,
        now_ms: i64,
    ) -> Result<(), OnsaleRefused> {
        let released = self.withheld_of(&compared);
        let is_same = compared.writes_nothing() && request.coverage == self.coverage().rooms();
        if is_same && released.is_empty() {
            return Ok(());
        }
        let onsale = NewOnsale {
            compared_with,
            coverage: request.coverage.clone(),
            venues: compared.venue_writes,
            shows: compared.show_writes,
            applied: compared.applied,
            released,
        };
        let mut version = self.shared.version.lock().await;
        self.ledger
            .apply_onsale(onsale, compared.checks, now_ms)
            .await?;
        Ok(self.reload(&mut version).await?)
    }
}

fn item_of(kind: OnsaleKind, id: &str) -> OnsaleItem {
    let id = id.to_owned();
    OnsaleItem { kind, id }
}

fn corrupt(error: &serde_json::Error) -> LedgerError {
    LedgerError::Corrupt(error.to_string())
}

/// Returns the value of a field, or reports its fault.
fn value_or_fault<T, E: std::fmt::Display>(
    read: Result<T, E>,
    (item, field): (&OnsaleItem, &str),
    report: &mut OnsaleReport,
) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(error) => {
            report.add_fault(item, field, "invalid_field", error.to_string());
            None
        }
    }
}
