//! Stores a promoter's show. Its document is checked against the venue's newest plan, and a change
//! that would move seats in use is refused.

use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::money::Currency;
use fairgate_model::plans::pinned::SeatingPlan;
use fairgate_model::shows::Show;
use fairgate_model::shows::document::{FieldFault, ShowDocument, check_show_document};
use fairgate_model::shows::terms::UNNUMBERED;

use super::Catalogue;
use crate::ledger::{PlanPin, ShowRefused, StoredShow, UnchangedSeatCheck};

/// Why a show was not stored.
#[derive(Debug, thiserror::Error)]
pub enum ShowPutRefusal {
    /// The named venue does not exist.
    #[error("there is no venue {0}")]
    NoVenue(VenueId),
    /// The document is not valid.
    #[error("the document has {} faults", .0.len())]
    Invalid(Vec<FieldFault>),
    /// The plan would move, drop or rename seats that are held or sold. Has the seats' labels.
    #[error("the plan is in use at {0:?}")]
    PlanInUse(Vec<String>),
    /// Seats of the show were held or sold in this currency.
    #[error("the show is sold in {}", .0.as_str())]
    CurrencyInUse(Currency),
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl ShowPutRefusal {
    /// Turns the ledger's refusal into an answer for the promoter. `present` is the show before the
    /// change.
    fn from_ledger(refused: ShowRefused, present: Option<&Show>) -> Self {
        match refused {
            ShowRefused::PlanInUse(seats) => {
                let labels = present.map(|present| seat_labels(present, &seats));
                Self::PlanInUse(labels.unwrap_or_default())
            }
            ShowRefused::CurrencyInUse(currency) => Self::CurrencyInUse(currency),
            ShowRefused::Ledger(error) => Self::Ledger(error),
        }
    }
}

impl Catalogue {
    /// Stores a show with its venue's newest plan. `held` lists the seats that are in baskets and
    /// unpaid orders.
    ///
    /// # Errors
    /// Returns a [`ShowPutRefusal`]. Nothing was changed, except perhaps if the ledger failed.
    pub async fn put_show(
        &self,
        id: &ShowId,
        document: ShowDocument,
        held: &[u32],
        now_ms: i64,
    ) -> Result<Arc<Show>, ShowPutRefusal> {
        let newest = self.ledger.newest_plan(&document.venue).await?;
        let version = newest.ok_or_else(|| ShowPutRefusal::NoVenue(document.venue.clone()))?;
        let plan = self.plan(&document.venue, version).await?;
        let prices = check_show_document(&document, &plan.map, self.rules(document.currency))
            .map_err(ShowPutRefusal::Invalid)?;
        let present = self.show(id);
        let sold_seats_check = match &present {
            Some(present) => check_present(present, &document, &plan, held)?,
            None => None,
        };
        let stored = StoredShow {
            id: id.clone(),
            document: document.clone(),
            plan_version: version,
            run: None,
            fate: None,
            terms: UNNUMBERED,
        };
        let _no_reload = self.shared.version.lock().await;
        let versions = self
            .ledger
            .put_show(stored, sold_seats_check, now_ms)
            .await
            .map_err(|refused| ShowPutRefusal::from_ledger(refused, present.as_deref()))?;
        let plan = if versions.plan == version {
            plan
        } else {
            self.plan(&document.venue, versions.plan).await?
        };
        let show = Arc::new(Show {
            id: id.clone(),
            document,
            plan,
            prices,
            run: None,
            untouched: false,
            // The document does not say whether the show is cancelled or postponed. The ledger
            // stores that separately.
            fate: present.and_then(|present| present.fate),
            terms: versions.terms,
        });
        self.shared
            .shows
            .write()
            .insert(id.clone(), Arc::clone(&show));
        self.shared.edition.advance();
        Ok(show)
    }
}

/// Checks whether a show may get a new document while the seats in `held` are held. If the plan
/// changes, returns the check that the ledger runs on the sold seats.
fn check_present(
    present: &Show,
    document: &ShowDocument,
    plan: &Arc<SeatingPlan>,
    held: &[u32],
) -> Result<Option<UnchangedSeatCheck>, ShowPutRefusal> {
    if present.run.is_some() {
        return Err(ShowPutRefusal::Invalid(vec![FieldFault {
            field: "show".to_owned(),
            code: "invalid_field",
            detail: "the timetable has a departure of this id; choose another".to_owned(),
        }]));
    }
    let currency = present.document.currency;
    if currency != document.currency && !held.is_empty() {
        return Err(ShowPutRefusal::CurrencyInUse(currency));
    }
    if Arc::ptr_eq(&present.plan, plan) {
        return Ok(None);
    }
    let (old, new) = (Arc::clone(&present.plan), Arc::clone(plan));
    let keeps_seat = move |seat: u32| old.map.keeps(&new.map, seat);
    let moved: Vec<u32> = held
        .iter()
        .copied()
        .filter(|seat| !keeps_seat(*seat))
        .collect();
    if !moved.is_empty() {
        return Err(ShowPutRefusal::PlanInUse(seat_labels(present, &moved)));
    }
    Ok(Some(UnchangedSeatCheck {
        old: PlanPin {
            venue: present.document.venue.clone(),
            version: present.plan.version,
        },
        keeps: Box::new(keeps_seat),
    }))
}

fn seat_labels(show: &Show, seats: &[u32]) -> Vec<String> {
    seats
        .iter()
        .map(|seat| show.seat_label(*seat).to_owned())
        .collect()
}
