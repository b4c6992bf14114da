//! Decides about showings that a new cinema programme does not have, inside the transaction that
//! stores it. What somebody has ordered or waits for is never taken off sale without a person's
//! decision.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use fairgate_databases::SqlTransaction;
use fairgate_model::ids::ShowId;
use fairgate_model::shows::document::{ShowDocument, ShowState};
use jiff::Timestamp;

use super::catalogue::{STORED, stored};
use super::programme::NewShowing;
use super::rows::Result;
use super::sold_shows::SoldShows;
use super::{fates, lock};
use crate::ledger::{
    LeavingDecision, LeavingShowing, NewFate, ProgrammeRefused, ProgrammeSuccession,
    ShowingChanges, StoredShow, UndecidedShow,
};

/// What becomes of the showings of earlier programmes.
#[derive(Default)]
pub(super) struct DecidedShowings<'a> {
    /// The rows that change. Their prices and times stay.
    pub(super) rows: Vec<NewShowing<'a>>,
    /// The showings that are cancelled, each with the reason.
    cancelled: Vec<(&'a ShowId, &'a str)>,
    /// How many showings each kind of change touches.
    pub(super) changes: ShowingChanges,
}

impl DecidedShowings<'_> {
    /// Cancels the showings that a person wants to be cancelled. Returns how many.
    pub(super) async fn cancel(&self, tx: &SqlTransaction, now_ms: i64) -> Result<usize> {
        for (show, reason) in &self.cancelled {
            let fate = NewFate {
                reason: Some((*reason).to_owned()),
                ..NewFate::CANCELLED
            };
            fates::put(tx, show, &fate, now_ms).await?;
        }
        Ok(self.cancelled.len())
    }
}

/// Showings that the new programme has, too, and that change, by kind of change.
pub(super) struct PresentShowings<'a> {
    /// Those that get another time, hall or film.
    pub(super) moved: &'a [String],
    /// Those that get another title.
    pub(super) retitled: &'a [String],
    /// Those that get other prices or rules.
    pub(super) repriced: &'a [String],
}

impl PresentShowings<'_> {
    /// Counts the showings that go on, in each kind of change that they have.
    fn count(&self, going_on: &[ShowId], sold: &SoldShows, changes: &mut ShowingChanges) {
        let named = |shows: &'_ [String]| -> HashSet<String> { shows.iter().cloned().collect() };
        let mut kinds = [
            (named(self.moved), &mut changes.moved),
            (named(self.retitled), &mut changes.retitled),
            (named(self.repriced), &mut changes.repriced),
        ];
        for show in going_on {
            let mut is_unchanged = true;
            for (shows, kind) in &mut kinds {
                if shows.contains(show.as_str()) {
                    kind.add(sold.figures(show));
                    is_unchanged = false;
                }
            }
            if is_unchanged {
                changes.unchanged.add(sold.figures(show));
            }
        }
    }
}

/// Decides about each showing of earlier programmes. The caller has locked the catalogue.
pub(super) async fn decide<'a>(
    tx: &SqlTransaction,
    succession: &'a ProgrammeSuccession,
    present: &PresentShowings<'_>,
    now_ms: i64,
) -> std::result::Result<DecidedShowings<'a>, ProgrammeRefused> {
    let leaving = succession.leaving.iter().map(|leaving| &leaving.show);
    let mut ids: Vec<String> = leaving.map(ToString::to_string).collect();
    ids.sort_unstable();
    // Until this transaction ends, nobody orders seats of these showings.
    tx.lock_each(lock::PLAN, &ids).await?;
    let shows = stored_shows(tx, &ids).await?;
    let going_on = succession.going_on.iter().map(ShowId::as_str);
    let all: Vec<&str> = ids.iter().map(String::as_str).chain(going_on).collect();
    let sold = SoldShows::read(tx, &all).await?;
    let mut decided = DecidedShowings::default();
    let mut undecided = Vec::new();
    for leaving in &succession.leaving {
        let Some(show) = shows.get(&leaving.show) else {
            continue;
        };
        if let Some(why) = question(leaving, &sold) {
            undecided.push(UndecidedShow {
                show: leaving.show.clone(),
                why,
                sold: sold.figures(&leaving.show),
                currency: show.document.currency,
            });
            continue;
        }
        decided.add(leaving, show, &sold, now_ms);
    }
    if !undecided.is_empty() {
        return Err(ProgrammeRefused::Undecided(undecided));
    }
    present.count(&succession.going_on, &sold, &mut decided.changes);
    Ok(decided)
}

/// Returns why a person must decide about a showing. Returns `None` if it is decided.
fn question(leaving: &LeavingShowing, sold: &SoldShows) -> Option<String> {
    let LeavingDecision::Withdrawn { is_held, why } = &leaving.becomes else {
        return None;
    };
    if sold.is_in_use(&leaving.show) {
        return Some(why.clone());
    }
    is_held.then(|| format!("{why}, and somebody has seats in a basket"))
}

impl<'a> DecidedShowings<'a> {
    fn add(
        &mut self,
        leaving: &'a LeavingShowing,
        show: &StoredShow,
        sold: &SoldShows,
        now_ms: i64,
    ) {
        let figures = sold.figures(&leaving.show);
        let document = &show.document;
        let changed = match &leaving.becomes {
            LeavingDecision::Withdrawn { .. } if document.state == ShowState::Announced => return,
            LeavingDecision::Withdrawn { .. } => {
                self.changes.left_out.add(figures);
                ShowDocument {
                    state: ShowState::Announced,
                    ..document.clone()
                }
            }
            LeavingDecision::Kept => {
                self.changes.kept.add(figures);
                let ended = document.sells_until;
                if ended.is_some_and(|ended| ended.as_millisecond() <= now_ms) {
                    return;
                }
                ShowDocument {
                    sells_until: Timestamp::from_millisecond(now_ms).ok(),
                    ..document.clone()
                }
            }
            LeavingDecision::Cancelled(reason) => {
                self.changes.cancelled.add(figures);
                self.cancelled.push((&leaving.show, reason));
                return;
            }
        };
        self.rows.push(NewShowing {
            show: leaving.show.as_str(),
            document: Cow::Owned(changed),
            plan_version: show.plan_version,
        });
    }
}

async fn stored_shows(tx: &SqlTransaction, ids: &[String]) -> Result<HashMap<ShowId, StoredShow>> {
    let sql = format!("SELECT {STORED} FROM shows WHERE show = ANY ($1)");
    let rows = tx.query(&sql, &[&ids]).await?;
    let shows = rows.iter().map(|row| {
        let show = stored(row)?;
        Ok((show.id.clone(), show))
    });
    shows.collect()
}
