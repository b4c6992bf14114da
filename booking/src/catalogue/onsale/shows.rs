//! Compares the shows of an on-sale file with those in force.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::counted::counted;
use fairgate_model::grid::ClaimedCell;
use fairgate_model::ids::ShowId;
use fairgate_model::onsale::merge::{Fields, merge_fields};
use fairgate_model::onsale::{OnsaleItem, OnsaleReport, OnsaleShow};
use fairgate_model::plans::pinned::SeatingPlan;
use fairgate_model::shows::Show;
use fairgate_model::shows::document::{ShowDocument, check_show_document};
use fairgate_model::shows::terms::UNNUMBERED;
use serde_json::Value;

use super::{Comparison, HeldSeats, corrupt, value_or_fault};
use crate::catalogue::Catalogue;
use crate::catalogue::put::{ShowPutRefusal, check_present, seat_labels};
use crate::ledger::{OnsaleShowWrite, StoredShow, UnchangedSeatCheck};

/// The most seats that a fault names.
const LABELS_MAX: usize = 10;

/// The plan that a show of the file will pin.
struct PlanChoice {
    plan: Arc<SeatingPlan>,
    /// Whether it is its venue's newest plan when the file is written.
    is_newest: bool,
}

impl Catalogue {
    pub(super) async fn compare_show(
        &self,
        (item, show): (&OnsaleItem, &OnsaleShow),
        applied: Option<&Fields>,
        held: &HeldSeats,
        compared: &mut Comparison,
    ) -> Result<(), LedgerError> {
        let read = show.id.parse::<ShowId>();
        let Some(id) = value_or_fault(read, (item, "id"), &mut compared.report) else {
            return Ok(());
        };
        // The stored document names no plan. The version that a show pins is stored beside it.
        let mut of_file = show.document.clone();
        let named_plan = of_file.plan.take();
        let file = fields_of(&of_file)?;
        compared.keep_entry(item, applied, &file);
        let present = self.show(&id);
        let report = &mut compared.report;
        let document = match present.as_deref() {
            None => {
                report.create.push(item.clone());
                of_file
            }
            Some(present) => merged_document(item, applied, present, &file, report)?,
        };
        compared.shows.push((id.clone(), document.clone()));
        let venue = compared.venues.get(&document.venue);
        let venue_plan = venue.map(|venue| (Arc::clone(&venue.plan), venue.is_new_plan));
        let wanted = (&document, named_plan);
        let held = held.get(&show.id).map_or(&[][..], Vec::as_slice);
        let checked = self
            .check_change(wanted, present.as_deref(), venue_plan, held)
            .await;
        let (choice, check) = match checked {
            Ok(checked) => checked,
            Err(ShowPutRefusal::Ledger(error)) => return Err(error),
            Err(refused) => {
                add_refusal(refused, item, &mut compared.report);
                return Ok(());
            }
        };
        let is_same = present.is_some_and(|present| {
            present.document == document && present.plan.version == choice.plan.version
        });
        if !is_same {
            compared.checks.push(check);
            compared.show_writes.push(OnsaleShowWrite {
                show: unnumbered(id, document, choice.plan.version),
                pins_newest_plan: choice.is_newest,
            });
        }
        Ok(())
    }

    /// Checks a show's document, and the plan that it names or keeps, against the show in force.
    /// Returns the plan, and the check that the ledger runs on the sold seats, if there is one.
    async fn check_change(
        &self,
        (document, named_plan): (&ShowDocument, Option<u32>),
        present: Option<&Show>,
        venue_plan: Option<(Arc<SeatingPlan>, bool)>,
        held: &[u32],
    ) -> Result<(PlanChoice, Option<UnchangedSeatCheck>), ShowPutRefusal> {
        let put = present.filter(|show| show.run.is_none());
        let choice = match named_plan {
            Some(version) => self.chosen_plan(document, put, version).await?,
            None => self.plan_for(document, put, venue_plan).await?,
        };
        let rules = self.rules(document.currency);
        check_show_document(document, &choice.plan.map, rules).map_err(ShowPutRefusal::Invalid)?;
        if let Some(put) = put {
            self.refuse_to_move(put, document).await?;
        }
        let check = match present {
            Some(present) => check_present(present, document, &choice.plan, held)?,
            None => None,
        };
        if let Some(put) = put {
            let needs_claims = check.is_some() || put.document.currency != document.currency;
            if needs_claims {
                let claimed = self.ledger.claimed(&put.id).await?;
                refuse_if_claimed(put, document, check.as_ref(), &claimed)?;
            }
        }
        Ok((choice, check))
    }

    /// Returns the plan version that the file names for a show.
    async fn chosen_plan(
        &self,
        document: &ShowDocument,
        present: Option<&Show>,
        version: u32,
    ) -> Result<PlanChoice, ShowPutRefusal> {
        let stays = present.filter(|show| show.document.venue == document.venue);
        let pinned = stays.map(|show| show.plan.version);
        let plan = self.named_plan(&document.venue, version, pinned).await?;
        let is_newest = false;
        Ok(PlanChoice { plan, is_newest })
    }

    /// Chooses the plan that a show of the file will pin. A show keeps its plan unless the file
    /// puts it into another venue or changes its venue's plan. `of_file` is the plan of its venue
    /// in the file, and whether the apply writes this plan.
    async fn plan_for(
        &self,
        document: &ShowDocument,
        present: Option<&Show>,
        of_file: Option<(Arc<SeatingPlan>, bool)>,
    ) -> Result<PlanChoice, ShowPutRefusal> {
        let is_new_plan = of_file.as_ref().is_some_and(|(_, is_new)| *is_new);
        if let Some(present) = present
            && present.document.venue == document.venue
            && !is_new_plan
        {
            let plan = Arc::clone(&present.plan);
            let is_newest = false;
            return Ok(PlanChoice { plan, is_newest });
        }
        let newest = match of_file {
            Some((plan, _)) => Some(plan),
            None => self.newest_plan(&document.venue).await?,
        };
        let plan = newest.ok_or_else(|| ShowPutRefusal::NoVenue(document.venue.clone()))?;
        let is_newest = true;
        Ok(PlanChoice { plan, is_newest })
    }
}

/// Refuses another currency, and a plan that moves claimed seats. The ledger refuses both, too, but
/// only once the rooms of the file are stored.
fn refuse_if_claimed(
    present: &Show,
    document: &ShowDocument,
    check: Option<&UnchangedSeatCheck>,
    claimed: &[ClaimedCell],
) -> Result<(), ShowPutRefusal> {
    let currency = present.document.currency;
    if currency != document.currency && !claimed.is_empty() {
        return Err(ShowPutRefusal::CurrencyInUse(currency));
    }
    let Some(check) = check else {
        return Ok(());
    };
    let seats: BTreeSet<u32> = claimed.iter().map(|(seat, ..)| *seat).collect();
    let moved: Vec<u32> = seats
        .into_iter()
        .filter(|seat| !(check.keeps)(*seat))
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    Err(ShowPutRefusal::PlanInUse(seat_labels(present, &moved)))
}

/// Returns a show as the ledger takes it. The ledger numbers its terms.
fn unnumbered(id: ShowId, document: ShowDocument, plan_version: u32) -> StoredShow {
    StoredShow {
        id,
        document,
        plan_version,
        run: None,
        fate: None,
        terms: UNNUMBERED,
    }
}

fn fields_of(document: &ShowDocument) -> Result<Fields, LedgerError> {
    match serde_json::to_value(document).map_err(|error| corrupt(&error))? {
        Value::Object(fields) => Ok(fields),
        _ => Err(LedgerError::Corrupt(
            "a show's document is no object".into(),
        )),
    }
}

/// Returns the document that a known show will have.
fn merged_document(
    item: &OnsaleItem,
    applied: Option<&Fields>,
    present: &Show,
    file: &Fields,
    report: &mut OnsaleReport,
) -> Result<ShowDocument, LedgerError> {
    let live = fields_of(&present.document)?;
    let before = match applied {
        Some(applied) => Some(applied.clone()),
        None => before_any_file(present, &live),
    };
    let merged = merge_fields(item, before.as_ref(), &live, file, report);
    serde_json::from_value(Value::Object(merged)).map_err(|error| corrupt(&error))
}

/// Stands in for the file of a show that was never applied from one. It is what is in force, and
/// `None` means the same. If the show was postponed, nobody knows what its file says about the
/// date.
fn before_any_file(present: &Show, live: &Fields) -> Option<Fields> {
    present.fate?;
    let mut fields = live.clone();
    fields.remove("starts_at");
    Some(fields)
}

/// Reports why a show cannot change in this way.
pub(super) fn add_refusal(refused: ShowPutRefusal, item: &OnsaleItem, report: &mut OnsaleReport) {
    match refused {
        ShowPutRefusal::Invalid(faults) => {
            for fault in faults {
                report.add_fault(item, &fault.field, fault.code, fault.detail);
            }
        }
        ShowPutRefusal::PlanInUse(labels) => {
            let named: Vec<_> = labels.iter().take(LABELS_MAX).cloned().collect();
            let detail = format!(
                "the plan would move, drop or rename {} held or sold: {}; keep these seats as they are",
                counted(labels.len(), "seat that is", "seats that are"),
                named.join(", ")
            );
            report.add_fault(item, "venue", "plan_in_use", detail);
        }
        ShowPutRefusal::CurrencyInUse(currency) => {
            let detail = format!(
                "seats of the show are held or sold in {}; keep that currency, or sell in another one as a new show",
                currency.as_str()
            );
            report.add_fault(item, "currency", "currency_in_use", detail);
        }
        ShowPutRefusal::PostponeInstead(fields) => {
            for field in fields {
                let detail = "the show has orders; postpone or move it, so that its buyers keep their rights and are told";
                report.add_fault(item, field, "postpone_instead", detail.to_owned());
            }
        }
        ShowPutRefusal::NoVenue(venue) => {
            let detail = format!("there is no venue \"{venue}\"");
            report.add_fault(item, "venue", "invalid_field", detail);
        }
        ShowPutRefusal::Ledger(error) => {
            report.add_fault(item, "", "invalid_field", error.to_string());
        }
    }
}
