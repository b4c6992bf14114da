//! Stores venues, shows and coverage. Changes of the catalogue are made one after another,
//! because each locks the row with the catalogue's version. So a node that reads a version also
//! finds all changes up to this version. `departures` stores departures.

use parking_lot::Mutex;

use fairgate_databases::{NamedLock, SqlRow, SqlTransaction};
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::shows::document::ShowDocument;
use fairgate_model::shows::terms::SaleTerms;
use fairgate_model::venues::VenueLocation;

use super::rows::{
    Result, count, coverage_by_room, from_json, parsed, read_fate, run_of, small, text, to_json,
};
use super::{Ledger, lock, plan_pins, terms};
use crate::ledger::{
    NewVenuePlan, PlanPin, ShowRefused, StoredShow, StoredShowVersions, UnchangedSeatCheck,
};

/// Venues and shows, and which room covers which show.
impl Ledger {
    /// Stores a plan as the venue's next version and returns the version. If the newest plan is the
    /// same, returns its version and stores no plan. Replaces the venue's location.
    pub async fn put_venue(
        &self,
        venue: &VenueId,
        plan: NewVenuePlan,
        location: VenueLocation,
        now_ms: i64,
    ) -> Result<u32> {
        self.installation
            .write(
                (venue.clone(), plan, location),
                move |tx, (venue, new, location)| {
                    Box::pin(async move {
                        lock_catalogue(tx).await?;
                        put_location(tx, venue.as_str(), location).await?;
                        put_plan(tx, venue.as_str(), &new.plan, new.digest, now_ms).await
                    })
                },
            )
            .await
    }

    /// Returns the locations of all venues that have one.
    pub async fn venue_locations(&self) -> Result<Vec<(VenueId, VenueLocation)>> {
        self.installation
            .read((), |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT venue, name, city, address, time_zone FROM venue_locations";
                    let rows = tx.query(sql, &[]).await?;
                    rows.iter().map(located_venue).collect()
                })
            })
            .await
    }

    /// Returns the newest plan version of a venue.
    pub async fn newest_plan(&self, venue: &VenueId) -> Result<Option<u32>> {
        self.installation
            .read(venue.clone(), |tx, venue| {
                Box::pin(async move {
                    let sql =
                        "SELECT version FROM venues WHERE venue = $1 ORDER BY version DESC LIMIT 1";
                    let newest = tx.first(sql, &[&venue.as_str()]).await?;
                    newest.map(|row| small(&row, 0)).transpose()
                })
            })
            .await
    }

    /// Returns the stored plan of a venue at a version.
    pub async fn plan(&self, venue: &VenueId, version: u32) -> Result<Option<String>> {
        self.installation
            .read(venue.clone(), move |tx, venue| {
                Box::pin(async move {
                    let sql = "SELECT plan FROM venues WHERE venue = $1 AND version = $2";
                    let plan = tx.first(sql, &[&venue.as_str(), &version]).await?;
                    plan.map(|row| row.get(0)).transpose()
                })
            })
            .await
    }

    /// Stores a show and returns its versions. The terms in its document become a new version,
    /// unless the newest version is the same. If the show gets another plan, `check` must pass for
    /// all claimed seats. Without a check, no seat may be claimed. If the show moves to another
    /// venue, it pins a plan version that is larger than its old one. The currency, the time and
    /// the venue of a show cannot change while orders have seats.
    pub async fn put_show(
        &self,
        show: StoredShow,
        check: Option<UnchangedSeatCheck>,
        now_ms: i64,
    ) -> std::result::Result<StoredShowVersions, ShowRefused> {
        let check = check.map(Mutex::new);
        self.installation
            .write((show, check), move |tx, (show, check)| {
                Box::pin(put_show(tx, show, check.as_ref(), now_ms))
            })
            .await
    }

    /// Returns all shows except departures.
    pub async fn shows(&self) -> Result<Vec<StoredShow>> {
        self.installation
            .read((), |tx, ()| {
                Box::pin(async move {
                    let sql = format!(
                        "SELECT {STORED} FROM shows WHERE departure IS NULL \
                         ORDER BY show COLLATE \"C\""
                    );
                    let rows = tx.query(&sql, &[]).await?;
                    rows.iter().map(stored).collect()
                })
            })
            .await
    }

    /// Replaces the list of rooms, each with the patterns of the shows that it covers.
    pub async fn put_coverage(&self, coverage: Vec<(String, Vec<String>)>) -> Result<()> {
        self.installation
            .write(coverage, |tx, coverage| {
                Box::pin(put_coverage(tx, coverage))
            })
            .await
    }

    /// Returns the list of rooms, each with the patterns of the shows that it covers.
    pub async fn coverage(&self) -> Result<Vec<(String, Vec<String>)>> {
        self.installation
            .read((), |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT room, pattern FROM coverage ORDER BY position";
                    let rows = tx.query(sql, &[]).await?;
                    let read = |row: &SqlRow| Ok((row.get(0)?, row.get(1)?));
                    let rows: Vec<_> = rows.iter().map(read).collect::<Result<_>>()?;
                    Ok(coverage_by_room(rows))
                })
            })
            .await
    }

    /// Returns a number that grows whenever a node changes a venue, a show, the timetable, the
    /// programme or the coverage. Opening a departure does not change it. This call is cheap.
    pub async fn catalogue_version(&self) -> Result<u64> {
        self.installation
            .read((), |tx, ()| {
                Box::pin(async move {
                    let row = tx
                        .query_one("SELECT version FROM catalogue_version", &[])
                        .await?;
                    count(&row, 0)
                })
            })
            .await
    }

    /// Returns a version of a show's terms.
    pub async fn terms(&self, show: &ShowId, version: u32) -> Result<Option<SaleTerms>> {
        self.installation
            .read(show.clone(), move |tx, show| {
                Box::pin(terms::read(tx, show.as_str(), version))
            })
            .await
    }

    /// Returns since when a version of a show's terms applies, in milliseconds since the epoch.
    pub async fn terms_since(&self, show: &ShowId, version: u32) -> Result<Option<i64>> {
        self.installation
            .read(show.clone(), move |tx, show| {
                Box::pin(async move {
                    let sql = "SELECT at FROM terms WHERE show = $1 AND version = $2";
                    let found = tx.first(sql, &[&show.as_str(), &version]).await?;
                    found.map(|row| row.get(0)).transpose()
                })
            })
            .await
    }
}

/// The columns that [`stored`] reads.
pub(super) const STORED: &str = "show, document::text, plan_version, run, \
     (SELECT f.fate FROM show_fates f WHERE f.show = shows.show), \
     (SELECT f.at FROM show_fates f WHERE f.show = shows.show), \
     (SELECT f.refunds_until FROM show_fates f WHERE f.show = shows.show), terms";

/// How many columns [`STORED`] has.
pub(super) const STORED_COUNT: usize = 8;

pub(super) fn stored(row: &SqlRow) -> Result<StoredShow> {
    let run: Option<&str> = row.get(3)?;
    Ok(StoredShow {
        id: parsed(text(row, 0)?)?,
        document: from_json(text(row, 1)?)?,
        plan_version: small(row, 2)?,
        run: run.map(run_of).transpose()?,
        fate: read_fate(row.get(4)?, row.get(5)?, row.get(6)?)?,
        terms: small(row, 7)?,
    })
}

pub(super) async fn put_show(
    tx: &SqlTransaction,
    show: &StoredShow,
    check: Option<&Mutex<UnchangedSeatCheck>>,
    now_ms: i64,
) -> std::result::Result<StoredShowVersions, ShowRefused> {
    lock_catalogue(tx).await?;
    let id = show.id.as_str();
    // While this transaction has the lock, no other transaction claims seats of the show. No claim
    // can come between the check of the claims and the writing of the new plan.
    tx.lock(&[NamedLock::alone(lock::PLAN, id)]).await?;
    let mut plan_version = show.plan_version;
    let sql = "SELECT document::text, EXISTS (SELECT 1 FROM claims WHERE show = $1), plan_version \
         FROM shows WHERE show = $1";
    if let Some(row) = tx.first(sql, &[&id]).await? {
        let is_sold: bool = row.get(1)?;
        let present: ShowDocument = from_json(text(&row, 0)?)?;
        if is_sold && present.currency != show.document.currency {
            return Err(ShowRefused::CurrencyInUse(present.currency));
        }
        let moved = present.moves_to(&show.document);
        if is_sold && !moved.is_empty() {
            return Err(ShowRefused::PostponeInstead(moved));
        }
        let old = PlanPin {
            venue: present.venue,
            version: small(&row, 2)?,
        };
        let wanted = PlanPin {
            venue: show.document.venue.clone(),
            version: plan_version,
        };
        plan_version = plan_pins::next_version(tx, (id, &old, &wanted), check, now_ms).await?;
    }
    let sql = "INSERT INTO shows (show, document, plan_version, updated_at) \
         VALUES ($1, $2, $3, $4) ON CONFLICT (show) DO UPDATE SET document = excluded.document, \
         plan_version = excluded.plan_version, updated_at = excluded.updated_at";
    let document = to_json(&show.document)?;
    tx.execute(sql, &[&id, &document, &plan_version, &now_ms])
        .await?;
    // Whoever writes a show says what is to be sold.
    release_show(tx, &show.id).await?;
    let versions = terms::record_versions(
        tx,
        &[(id, SaleTerms::from_document(&show.document, None))],
        now_ms,
    )
    .await?;
    raise_version(tx).await?;
    Ok(StoredShowVersions {
        terms: versions.get(id).copied().unwrap_or_default(),
        plan: plan_version,
    })
}

pub(super) async fn release_show(tx: &SqlTransaction, show: &ShowId) -> Result<()> {
    let sql = "DELETE FROM withheld_shows WHERE show = $1";
    tx.execute(sql, &[&show.as_str()]).await?;
    Ok(())
}

pub(super) async fn put_coverage(
    tx: &SqlTransaction,
    coverage: &[(String, Vec<String>)],
) -> Result<()> {
    let (rooms, patterns): (Vec<&str>, Vec<&str>) = coverage
        .iter()
        .flat_map(|(room, patterns)| {
            patterns
                .iter()
                .map(move |pattern| (room.as_str(), pattern.as_str()))
        })
        .unzip();
    lock_catalogue(tx).await?;
    tx.execute("DELETE FROM coverage", &[]).await?;
    if tx.is_postgres() {
        put_patterns_fused(tx, &rooms, &patterns).await?;
    } else {
        let sql = "INSERT INTO coverage (room, pattern) VALUES ($1, $2)";
        for (room, pattern) in rooms.iter().zip(&patterns) {
            tx.execute(sql, &[room, pattern]).await?;
        }
    }
    raise_version(tx).await
}

/// Writes all patterns in one statement instead of one round trip for each, because every other
/// change of the catalogue waits for this one.
async fn put_patterns_fused(tx: &SqlTransaction, rooms: &[&str], patterns: &[&str]) -> Result<()> {
    let sql = "INSERT INTO coverage (room, pattern) SELECT room, pattern \
         FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS put (room, pattern, nth) \
         ORDER BY nth";
    tx.execute(sql, &[&rooms, &patterns]).await?;
    Ok(())
}

/// Stores a plan as the venue's next version, unless the newest plan is the same. Returns the
/// version. The caller must have called [`lock_catalogue`].
pub(super) async fn put_plan(
    tx: &SqlTransaction,
    venue: &str,
    plan: &str,
    digest: [u8; 32],
    now_ms: i64,
) -> Result<u32> {
    let sql = "SELECT version, digest FROM venues WHERE venue = $1 ORDER BY version DESC LIMIT 1";
    let mut version = 1_u32;
    if let Some(newest) = tx.first(sql, &[&venue]).await? {
        let present: u32 = small(&newest, 0)?;
        if newest.get::<&[u8]>(1)? == digest {
            return Ok(present);
        }
        version = present + 1;
    }
    let sql =
        "INSERT INTO venues (venue, version, plan, digest, created_at) VALUES ($1, $2, $3, $4, $5)";
    tx.execute(sql, &[&venue, &version, &plan, &digest, &now_ms])
        .await?;
    raise_version(tx).await?;
    Ok(version)
}

/// Replaces the location of a venue. The caller must have called [`lock_catalogue`].
pub(super) async fn put_location(
    tx: &SqlTransaction,
    venue: &str,
    location: &VenueLocation,
) -> Result<()> {
    let sql = "SELECT venue, name, city, address, time_zone FROM venue_locations WHERE venue = $1";
    let known = tx.first(sql, &[&venue]).await?;
    let known = known.as_ref().map(located_venue).transpose()?;
    if known.map(|(_, known)| known).unwrap_or_default() == *location {
        return Ok(());
    }
    tx.execute("DELETE FROM venue_locations WHERE venue = $1", &[&venue])
        .await?;
    if *location != VenueLocation::default() {
        let sql = "INSERT INTO venue_locations (venue, name, city, address, time_zone) \
                   VALUES ($1, $2, $3, $4, $5)";
        let VenueLocation {
            name,
            city,
            address,
            time_zone,
        } = location;
        tx.execute(sql, &[&venue, name, city, address, time_zone])
            .await?;
    }
    raise_version(tx).await
}

fn located_venue(row: &SqlRow) -> Result<(VenueId, VenueLocation)> {
    let location = VenueLocation {
        name: row.get(1)?,
        city: row.get(2)?,
        address: row.get(3)?,
        time_zone: row.get(4)?,
    };
    Ok((parsed(text(row, 0)?)?, location))
}

/// Waits until no other transaction is changing the catalogue, and keeps other changes out until
/// this transaction ends.
pub(super) async fn lock_catalogue(tx: &SqlTransaction) -> Result<()> {
    let sql = "SELECT version FROM catalogue_version FOR UPDATE";
    tx.query_one(sql, &[]).await?;
    Ok(())
}

/// Raises the catalogue's version, so that every node reads the catalogue again.
pub(super) async fn raise_version(tx: &SqlTransaction) -> Result<()> {
    let sql = "UPDATE catalogue_version SET version = version + 1";
    tx.execute(sql, &[]).await?;
    Ok(())
}
