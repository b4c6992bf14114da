//! Stores a promoter's show. Its document is checked against the plan that the show pins, and a
//! change that would move seats in use is refused.

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
    /// The show has orders, so these fields cannot change.
    #[error("the show has orders, and {0:?} would change")]
    PostponeInstead(Vec<&'static str>),
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl ShowPutRefusal {
    /// Turns the ledger's refusal into an answer for the promoter. `present` is the show before the
    /// change.
    pub(super) fn from_ledger(refused: ShowRefused, present: Option<&Show>) -> Self {
        match refused {
            ShowRefused::PlanInUse(seats) => {
                let labels = present.map(|present| seat_labels(present, &seats));
                Self::PlanInUse(labels.unwrap_or_default())
            }
            ShowRefused::CurrencyInUse(currency) => Self::CurrencyInUse(currency),
            ShowRefused::PostponeInstead(fields) => Self::PostponeInstead(fields),
            ShowRefused::Ledger(error) => Self::Ledger(error),
        }
    }
}

impl Catalogue {
    /// Stores a show. The show pins the plan that its document names. If the document names none,
    /// the show keeps its plan; a show that is new in its venue gets the venue's newest plan.
    /// `held` lists the seats that are in baskets and unpaid orders.
    ///
    /// # Errors
    /// Returns a [`ShowPutRefusal`]. Nothing was changed, except perhaps if the ledger failed.
    pub async fn put_show(
        &self,
        id: &ShowId,
        mut document: ShowDocument,
        held: &[u32],
        now_ms: i64,
    ) -> Result<PutShow, ShowPutRefusal> {
        let newest = self.ledger.newest_plan(&document.venue).await?;
        let newest = newest.ok_or_else(|| ShowPutRefusal::NoVenue(document.venue.clone()))?;
        let present = self.show(id);
        let own = present.as_deref().filter(|show| show.run.is_none());
        if let Some(own) = own {
            self.refuse_to_move(own, &document).await?;
        }
        let pinned = own.filter(|show| show.document.venue == document.venue);
        let pinned = pinned.map(|show| show.plan.version);
        let plan = match document.plan.take() {
            Some(version) => self.named_plan(&document.venue, version, pinned).await?,
            None => self.plan(&document.venue, pinned.unwrap_or(newest)).await?,
        };
        let version = plan.version;
        let prices = check_show_document(&document, &plan.map, self.rules(document.currency))
            .map_err(ShowPutRefusal::Invalid)?;
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
        self.shared.withheld.write().remove(id);
        self.shared.edition.advance();
        Ok(PutShow {
            show,
            newest_plan: newest,
        })
    }

    /// Refuses to move a show with orders to another time or venue. The ledger checks this again,
    /// because an order may be made meanwhile.
    pub(super) async fn refuse_to_move(
        &self,
        show: &Show,
        document: &ShowDocument,
    ) -> Result<(), ShowPutRefusal> {
        let moved = show.document.moves_to(document);
        if moved.is_empty() || self.ledger.claimed(&show.id).await?.is_empty() {
            return Ok(());
        }
        Err(ShowPutRefusal::PostponeInstead(moved))
    }

    /// Returns the version of a venue's plan that a document names. A show that stays in its venue
    /// pins the version `pinned` now.
    pub(super) async fn named_plan(
        &self,
        venue: &VenueId,
        version: u32,
        pinned: Option<u32>,
    ) -> Result<Arc<SeatingPlan>, ShowPutRefusal> {
        let refused = |detail: String| {
            ShowPutRefusal::Invalid(vec![FieldFault {
                field: "plan".to_owned(),
                code: "invalid_field",
                detail,
            }])
        };
        if let Some(pinned) = pinned.filter(|pinned| version < *pinned) {
            return Err(refused(format!(
                "the show pins version {pinned}, and versions only grow; to go back to an earlier plan, put it as the venue's plan again, and name the version that it gets"
            )));
        }
        match self.find_plan(venue, version).await? {
            Some(plan) => Ok(plan),
            None => Err(refused(format!(
                "the venue has no plan of version {version}; PUT /v1/promoter/venues/{venue} tells the version that it stored"
            ))),
        }
    }
}

/// A show that was stored.
pub struct PutShow {
    /// The show.
    pub show: Arc<Show>,
    /// The newest version of its venue's plan. The show may pin an older one.
    pub newest_plan: u32,
}

/// Checks whether a show may get a new document while the seats in `held` are held. If the plan
/// changes, returns the check that the ledger runs on the sold seats.
pub(super) fn check_present(
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

pub(super) fn seat_labels(show: &Show, seats: &[u32]) -> Vec<String> {
    seats
        .iter()
        .map(|seat| show.seat_label(*seat).to_owned())
        .collect()
}
