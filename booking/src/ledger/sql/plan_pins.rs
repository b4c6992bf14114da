//! Decides which plan version a show pins. Holds and orders have only the number of the plan
//! version that their seats belong to. So a show keeps its number while its plan stays the same,
//! and gets a larger number each time its plan changes.

use fairgate_databases::{LedgerError, SqlTransaction};
use fairgate_model::ids::VenueId;
use parking_lot::Mutex;

use super::rows::{Result, small};
use crate::ledger::{PlanPin, ShowRefused, UnchangedSeatCheck};

/// Returns the plan version that a show will pin instead of `old`. The caller has compared the show
/// with the plan `wanted`. Refuses a plan that moves claimed seats. The caller must have called
/// [`super::catalogue::lock_catalogue`] and locked the show against new claims.
pub(super) async fn next_version(
    tx: &SqlTransaction,
    (show, old, wanted): (&str, &PlanPin, &PlanPin),
    check: Option<&Mutex<UnchangedSeatCheck>>,
    now_ms: i64,
) -> std::result::Result<u32, ShowRefused> {
    if old == wanted || is_same_plan(tx, old, wanted).await? {
        return Ok(old.version);
    }
    let moved = moved_seats(tx, show, old, check).await?;
    if !moved.is_empty() {
        return Err(ShowRefused::PlanInUse(moved));
    }
    if wanted.version > old.version {
        return Ok(wanted.version);
    }
    if wanted.venue == old.venue {
        return Err(older_than_pinned(&wanted.venue).into());
    }
    Ok(store_plan_again(tx, wanted, old.version, now_ms).await?)
}

/// Returns whether both are versions of one venue's plan with the same content.
async fn is_same_plan(tx: &SqlTransaction, old: &PlanPin, wanted: &PlanPin) -> Result<bool> {
    if old.venue != wanted.venue {
        return Ok(false);
    }
    let sql = "SELECT EXISTS (SELECT 1 FROM venues a JOIN venues b \
         ON b.venue = a.venue AND b.digest = a.digest \
         WHERE a.venue = $1 AND a.version = $2 AND b.version = $3)";
    let venue = old.venue.as_str();
    let versions = tx
        .query_one(sql, &[&venue, &old.version, &wanted.version])
        .await?;
    versions.get(0)
}

/// Refuses to replace a plan that a show pins by an older one of the same venue. Somebody stored
/// the newer plan after the caller had read the older one.
pub(super) fn older_than_pinned(venue: &VenueId) -> LedgerError {
    LedgerError::Overtaken(format!(
        "A newer plan of the venue {venue} has just been stored"
    ))
}

/// Returns a number of the same plan that is larger than the one it has. Stores the plan once more
/// if the venue has no such number.
pub(super) async fn same_plan_again(
    tx: &SqlTransaction,
    plan: &PlanPin,
    now_ms: i64,
) -> Result<u32> {
    let sql = "SELECT a.version FROM venues a JOIN venues b \
         ON b.venue = a.venue AND b.digest = a.digest \
         WHERE a.venue = $1 AND b.version = $2 AND a.version > $2 ORDER BY a.version LIMIT 1";
    let found = tx
        .first(sql, &[&plan.venue.as_str(), &plan.version])
        .await?;
    match found {
        Some(row) => small(&row, 0),
        None => store_plan_again(tx, plan, plan.version, now_ms).await,
    }
}

/// Stores a venue's plan once more, as the newest version, and returns its number, which is larger
/// than `old_version`. A show that moves to another venue must not get a number that it had before.
pub(super) async fn store_plan_again(
    tx: &SqlTransaction,
    plan: &PlanPin,
    old_version: u32,
    now_ms: i64,
) -> Result<u32> {
    let venue = plan.venue.as_str();
    let sql = "SELECT MAX(version) FROM venues WHERE venue = $1";
    let newest: u32 = small(&tx.query_one(sql, &[&venue]).await?, 0)?;
    let next = newest.max(old_version) + 1;
    let sql = "INSERT INTO venues (venue, version, plan, digest, created_at) \
         SELECT venue, $3, plan, digest, $4 FROM venues WHERE venue = $1 AND version = $2";
    tx.execute(sql, &[&venue, &plan.version, &next, &now_ms])
        .await?;
    Ok(next)
}

/// Returns the claimed seats of a show that its new plan moves, drops or renames. Returns all
/// claimed seats if there is no check, or the check is not about the plan that the show pins.
async fn moved_seats(
    tx: &SqlTransaction,
    show: &str,
    old: &PlanPin,
    check: Option<&Mutex<UnchangedSeatCheck>>,
) -> Result<Vec<u32>> {
    let sql = "SELECT DISTINCT seat FROM claims WHERE show = $1 ORDER BY seat";
    let used = tx.query(sql, &[&show]).await?;
    let used: Vec<u32> = used
        .iter()
        .map(|row| small(row, 0))
        .collect::<Result<_>>()?;
    // The check has no side effects, so it may run again if the transaction is repeated.
    let check = check.map(|check| check.lock());
    let check = check.filter(|check| check.old == *old);
    let is_moved = |seat: &u32| check.as_ref().is_none_or(|check| !(check.keeps)(*seat));
    Ok(used.into_iter().filter(is_moved).collect())
}
