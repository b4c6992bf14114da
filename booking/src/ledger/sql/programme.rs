//! Writes a cinema programme in one transaction. On a server, a few statements write thousands of
//! showings as lists, so a showing does not cost a round trip of its own.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use fairgate_databases::{SqlRow, SqlTransaction};
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::shows::document::ShowDocument;
use fairgate_model::shows::terms::SaleTerms;

use super::catalogue::{lock_catalogue, raise_version};
use super::plan_pins::store_plan_again;
use super::rows::{Result, as_i64, bytes32, corrupt, count, parsed, small, text, to_json};
use super::showing_rows::{StoredShowings, stored_showings};
use super::{Ledger, leaving_showings, lock, terms};
use crate::ledger::{NewHallPlan, NewProgramme, PlanPin, ProgrammeOutcome, ProgrammeRefused};

/// Stores and reads the cinema programme.
impl Ledger {
    /// Writes a programme with its plans and shows as a whole, or not at all. Unchanged plans and
    /// shows stay as they are. A programme that changes nothing does not change the catalogue's
    /// version, so other nodes do not read the catalogue again.
    pub async fn put_programme(
        &self,
        programme: NewProgramme,
        now_ms: i64,
    ) -> std::result::Result<ProgrammeOutcome, ProgrammeRefused> {
        self.installation
            .write(programme, move |tx, programme| {
                Box::pin(put_programme(tx, programme, now_ms))
            })
            .await
    }

    /// Returns the programme with its number, if the number is larger than `known`. A caller that
    /// has no programme passes 0.
    pub async fn programme(&self, known: u64) -> Result<Option<(u64, String)>> {
        self.installation
            .read((), move |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT version, document FROM programme WHERE version > $1";
                    let newer = tx.first(sql, &[&as_i64(known)]).await?;
                    let read = |row: SqlRow| Ok((count(&row, 0)?, row.get(1)?));
                    newer.map(read).transpose()
                })
            })
            .await
    }
}

async fn put_programme(
    tx: &SqlTransaction,
    programme: &NewProgramme,
    now_ms: i64,
) -> std::result::Result<ProgrammeOutcome, ProgrammeRefused> {
    lock_catalogue(tx).await?;
    check_catalogue(tx, programme.succession.catalogue).await?;
    let mut newest = newest_plans(tx, programme).await?;
    let plans = put_plans(tx, programme, &mut newest, now_ms).await?;
    pin_compared_plans(tx, programme, &mut newest).await?;
    let present = stored_showings(tx, programme).await?;
    renumber_plans(tx, programme, &present, &mut newest, now_ms).await?;
    let changes = compare(programme, &newest, &present)?;
    let succession = &programme.succession;
    let decided = leaving_showings::decide(tx, succession, &changes.of_present(), now_ms).await?;
    let sold = sold_of(tx, &changes.other_currency).await?;
    if !sold.is_empty() {
        return Err(ProgrammeRefused::CurrencyInUse(sold));
    }
    let sold = sold_of(tx, &changes.moved).await?;
    if !sold.is_empty() {
        return Err(ProgrammeRefused::PostponeInstead(sold));
    }
    let in_use = moved_seats(tx, programme, &changes.pinned_anew).await?;
    if !in_use.is_empty() {
        return Err(ProgrammeRefused::PlanInUse(in_use));
    }
    let mut outcome = ProgrammeOutcome {
        plans,
        changes: decided.changes,
        ..changes.outcome
    };
    put_shows(tx, &changes.rows, now_ms).await?;
    put_shows(tx, &decided.rows, now_ms).await?;
    let left = decided.rows.len() + decided.cancel(tx, now_ms).await?;
    let same = tx
        .first(
            "SELECT document = $1 FROM programme",
            &[&programme.document],
        )
        .await?;
    let is_same = same.map_or(Ok(false), |row| row.get(0))?;
    outcome.written = outcome.plans + outcome.new + outcome.changed + left > 0 || !is_same;
    if outcome.written {
        let sql = "INSERT INTO programme (id, version, document, put_at) VALUES (1, 1, $1, $2) \
             ON CONFLICT (id) DO UPDATE SET version = programme.version + 1, \
             document = excluded.document, put_at = excluded.put_at";
        tx.execute(sql, &[&programme.document, &now_ms]).await?;
        raise_version(tx).await?;
    }
    if succession.is_preview {
        // An error rolls the whole transaction back.
        return Err(ProgrammeRefused::Preview(Box::new(outcome)));
    }
    Ok(outcome)
}

/// Refuses a programme that was decided for another version of the catalogue.
async fn check_catalogue(
    tx: &SqlTransaction,
    decided_for: Option<u64>,
) -> std::result::Result<(), ProgrammeRefused> {
    let row = tx
        .query_one("SELECT version FROM catalogue_version", &[])
        .await?;
    let present = count(&row, 0)?;
    match decided_for {
        Some(version) if version != present => Err(ProgrammeRefused::Replaced),
        _ => Ok(()),
    }
}

/// The version and digest of the newest plan of each hall.
type NewestPlans = HashMap<String, (u32, [u8; 32])>;

/// Returns the newest plans of all halls that the programme names.
async fn newest_plans(tx: &SqlTransaction, programme: &NewProgramme) -> Result<NewestPlans> {
    let of_shows = programme.shows.iter().map(|(_, document)| &document.venue);
    let of_plans = programme.plans.iter().map(|plan| &plan.venue);
    let mut halls: Vec<&str> = of_plans.chain(of_shows).map(|hall| hall.as_str()).collect();
    halls.sort_unstable();
    halls.dedup();
    let sql = "SELECT venue, version, digest FROM venues WHERE (venue, version) IN \
         (SELECT venue, MAX(version) FROM venues WHERE venue = ANY ($1) GROUP BY venue)";
    let rows = tx.query(sql, &[&halls]).await?;
    let read = |row: &SqlRow| {
        let digest = bytes32(row.get(2)?)?;
        Ok((row.get(0)?, (small(row, 1)?, digest)))
    };
    rows.iter().map(read).collect()
}

/// Replaces the plans in `newest` by those that the programme was compared with.
async fn pin_compared_plans(
    tx: &SqlTransaction,
    programme: &NewProgramme,
    newest: &mut NewestPlans,
) -> Result<()> {
    for (hall, compared) in &programme.present_plans {
        let hall = hall.as_str();
        if let Some(plan) = newest.get_mut(hall)
            && plan.0 != *compared
        {
            let sql = "SELECT digest FROM venues WHERE venue = $1 AND version = $2";
            let row = tx.query_one(sql, &[&hall, compared]).await?;
            *plan = (*compared, bytes32(row.get(0)?)?);
        }
    }
    Ok(())
}

/// Stores the plans that differ from their halls' newest plans, enters them in `newest`, and
/// returns their number.
async fn put_plans(
    tx: &SqlTransaction,
    programme: &NewProgramme,
    newest: &mut NewestPlans,
    now_ms: i64,
) -> Result<usize> {
    let next = |plan: &NewHallPlan| match newest.get(plan.venue.as_str()) {
        Some((_, digest)) if *digest == plan.digest => None,
        Some((version, _)) => Some(version + 1),
        None => Some(1),
    };
    let new: Vec<(&NewHallPlan, u32)> = programme
        .plans
        .iter()
        .filter_map(|plan| Some((plan, next(plan)?)))
        .collect();
    let sql =
        "INSERT INTO venues (venue, version, plan, digest, created_at) VALUES ($1, $2, $3, $4, $5)";
    for (plan, version) in &new {
        let venue = plan.venue.as_str();
        let text: &str = &plan.plan;
        tx.execute(sql, &[&venue, version, &text, &plan.digest, &now_ms])
            .await?;
        newest.insert(venue.to_owned(), (*version, plan.digest));
    }
    Ok(new.len())
}

/// A show that is to be written: its id, its document, and the plan version that it pins.
pub(super) struct NewShowing<'a> {
    pub(super) show: &'a str,
    pub(super) document: Cow<'a, ShowDocument>,
    pub(super) plan_version: u32,
}

/// How the programme differs from the stored shows.
#[derive(Default)]
struct ProgrammeChanges<'a> {
    outcome: ProgrammeOutcome,
    rows: Vec<NewShowing<'a>>,
    /// Shows that get another plan, each with the plan that it pins now.
    pinned_anew: HashMap<String, PlanPin>,
    /// Shows that get another currency.
    other_currency: Vec<String>,
    /// Shows that get another time, another hall or another film.
    moved: Vec<String>,
    /// Shows that get another title.
    retitled: Vec<String>,
    /// Shows that get other prices, or other rules for refunds and exchanges.
    repriced: Vec<String>,
}

impl ProgrammeChanges<'_> {
    /// Returns the shows that go on, by kind of change.
    fn of_present(&self) -> leaving_showings::PresentShowings<'_> {
        leaving_showings::PresentShowings {
            moved: &self.moved,
            retitled: &self.retitled,
            repriced: &self.repriced,
        }
    }

    /// Notes how a stored showing differs from its new document.
    fn note(
        &mut self,
        show: &ShowId,
        known: &ShowDocument,
        new: &ShowDocument,
        is_other_film: bool,
    ) {
        let note = |is_noted: bool, shows: &mut Vec<String>| {
            shows.extend(is_noted.then(|| show.to_string()));
        };
        let terms = |document: &ShowDocument| (document.prices.clone(), document.refunds.clone());
        note(known.currency != new.currency, &mut self.other_currency);
        note(known.title != new.title, &mut self.retitled);
        note(
            terms(known) != terms(new) || known.exchange != new.exchange,
            &mut self.repriced,
        );
        // A film may get another id and keep its title.
        let is_other = is_other_film && known.title != new.title;
        note(is_other || !known.moves_to(new).is_empty(), &mut self.moved);
    }
}

/// Gives a new version number to the plan of each hall into which a showing moves, if the showing
/// has pinned the same or a larger number in its old hall.
async fn renumber_plans(
    tx: &SqlTransaction,
    programme: &NewProgramme,
    present: &StoredShowings,
    plans: &mut NewestPlans,
    now_ms: i64,
) -> Result<()> {
    let mut larger_than: BTreeMap<&VenueId, u32> = BTreeMap::new();
    for (id, document) in &programme.shows {
        if let Some(known) = present.get(id.as_str())
            && known.document.venue != document.venue
        {
            let least = larger_than.entry(&document.venue).or_default();
            *least = (*least).max(known.plan_version);
        }
    }
    for (hall, old_version) in larger_than {
        if let Some((version, _)) = plans.get_mut(hall.as_str())
            && *version <= old_version
        {
            let plan = PlanPin {
                venue: hall.clone(),
                version: *version,
            };
            *version = store_plan_again(tx, &plan, old_version, now_ms).await?;
        }
    }
    Ok(())
}

/// Compares the programme with the stored shows. A show keeps its plan version while its hall's
/// plan stays the same. So its baskets stay valid if another show moves into the hall.
fn compare<'a>(
    programme: &'a NewProgramme,
    newest: &NewestPlans,
    present: &StoredShowings,
) -> Result<ProgrammeChanges<'a>> {
    let mut changes = ProgrammeChanges::default();
    for (id, document) in &programme.shows {
        let plan = *newest
            .get(document.venue.as_str())
            .ok_or_else(|| corrupt("a hall without a plan"))?;
        let Some(known) = present.get(id.as_str()) else {
            changes.outcome.new += 1;
            changes.rows.push(NewShowing {
                show: id.as_str(),
                document: Cow::Borrowed(document),
                plan_version: plan.0,
            });
            continue;
        };
        let document = known.with_own_time(document);
        if let Cow::Owned(postponed) = &document {
            let kept = (id.clone(), postponed.starts_at);
            changes.outcome.kept_times.push(kept);
        }
        let plan_version = known.next_version(&document.venue, plan)?;
        if known.plan_version == plan_version && known.document == *document {
            continue;
        }
        let is_other_film = programme.succession.other_film.contains(id);
        changes.note(id, &known.document, &document, is_other_film);
        if known.plan_version != plan_version {
            changes.pinned_anew.insert(id.to_string(), known.pin());
        }
        changes.outcome.changed += 1;
        changes.rows.push(NewShowing {
            show: id.as_str(),
            document,
            plan_version,
        });
    }
    Ok(changes)
}

/// Returns those of `shows` that have claimed seats, and locks all of `shows` against new claims.
async fn sold_of(tx: &SqlTransaction, shows: &[String]) -> Result<Vec<ShowId>> {
    if shows.is_empty() {
        return Ok(Vec::new());
    }
    tx.lock_each(lock::PLAN, shows).await?;
    let sql = "SELECT DISTINCT show FROM claims WHERE show = ANY ($1) ORDER BY show";
    let sold = tx.query(sql, &[&shows]).await?;
    sold.iter().map(|row| parsed(text(row, 0)?)).collect()
}

/// Returns the claimed seats that new plans move, drop or rename. Locks the shows, so that no seat
/// is claimed before the new plans are written.
async fn moved_seats(
    tx: &SqlTransaction,
    programme: &NewProgramme,
    pinned_anew: &HashMap<String, PlanPin>,
) -> Result<Vec<(ShowId, Vec<u32>)>> {
    if pinned_anew.is_empty() {
        return Ok(Vec::new());
    }
    let mut shows: Vec<String> = pinned_anew.keys().cloned().collect();
    shows.sort_unstable();
    tx.lock_each(lock::PLAN, &shows).await?;
    let sql = "SELECT DISTINCT show, seat FROM claims WHERE show = ANY ($1) ORDER BY show, seat";
    let mut in_use: Vec<(ShowId, Vec<u32>)> = Vec::new();
    for row in tx.query(sql, &[&shows]).await? {
        let (show, seat) = (parsed(text(&row, 0)?)?, small(&row, 1)?);
        let is_compared = programme.old_plans.get(&show) == pinned_anew.get(show.as_str());
        if is_compared && (programme.keeps)(&show, seat) {
            continue;
        }
        match in_use.last_mut() {
            Some((last, seats)) if *last == show => seats.push(seat),
            _ => in_use.push((show, vec![seat])),
        }
    }
    Ok(in_use)
}

/// Writes shows, and the terms of sale in their documents.
async fn put_shows(tx: &SqlTransaction, rows: &[NewShowing<'_>], now_ms: i64) -> Result<()> {
    if tx.is_postgres() {
        put_shows_fused(tx, rows, now_ms).await?;
    } else {
        let sql = "INSERT INTO shows (show, document, plan_version, updated_at) \
             VALUES ($1, $2, $3, $4) ON CONFLICT (show) DO UPDATE SET \
             document = excluded.document, plan_version = excluded.plan_version, \
             updated_at = excluded.updated_at";
        for row in rows {
            let document = to_json(&*row.document)?;
            tx.execute(sql, &[&row.show, &document, &row.plan_version, &now_ms])
                .await?;
        }
    }
    let noted: Vec<(&str, SaleTerms)> = rows
        .iter()
        .map(|row| (row.show, SaleTerms::from_document(&row.document, None)))
        .collect();
    terms::record_versions(tx, &noted, now_ms).await?;
    Ok(())
}

/// Writes all shows in one statement instead of thousands of round trips, because every other
/// change of the catalogue waits for this one.
async fn put_shows_fused(tx: &SqlTransaction, rows: &[NewShowing<'_>], now_ms: i64) -> Result<()> {
    let (mut shows, mut documents, mut versions) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        shows.push(row.show);
        documents.push(to_json(&*row.document)?);
        versions.push(i64::from(row.plan_version));
    }
    let sql = "INSERT INTO shows (show, document, plan_version, updated_at) \
         SELECT show, document::jsonb, version, $4 \
         FROM unnest($1::text[], $2::text[], $3::bigint[]) AS put (show, document, version) \
         ON CONFLICT (show) DO UPDATE SET document = excluded.document, \
         plan_version = excluded.plan_version, updated_at = excluded.updated_at";
    tx.execute(sql, &[&shows, &documents, &versions, &now_ms])
        .await?;
    Ok(())
}
