//! Stores timetables and their versions. The newest version is in force.

use fairgate_databases::SqlTransaction;
use fairgate_model::ids::VenueId;
use fairgate_model::timetables::KeptDeparture;

use super::catalogue::{lock_catalogue, put_plan, raise_version};
use super::rows::{Result, from_json, small, text, to_json};
use super::timetable_version::{lock_switch, newest_version};
use super::{Ledger, touched_departures};
use crate::ledger::{
    NewSeatingPlan, NewTimetable, StoredTimetable, SwitchedTimetable, TimetableRefused,
    TimetableSwitch,
};

/// Timetables, of which the newest version is in force.
impl Ledger {
    /// Stores a timetable as the next version, with the plans of its trains, and returns the
    /// version. Each plan becomes its venue's next version, unless the newest plan is the same. If
    /// the newest timetable has the same text and plans, and nobody decided about a departure,
    /// returns its version and changes nothing.
    ///
    /// In the same transaction, each touched departure gets what the switch decides for it. No
    /// departure gets a row meanwhile.
    ///
    /// # Errors
    /// [`TimetableRefused`]; nothing was changed then.
    pub async fn put_timetable(
        &self,
        new: NewTimetable,
        switch: TimetableSwitch,
        now_ms: i64,
    ) -> std::result::Result<SwitchedTimetable, TimetableRefused> {
        self.installation
            .write((new, switch), move |tx, (new, switch)| {
                Box::pin(put_timetable(tx, new, switch, now_ms))
            })
            .await
    }

    /// Returns the version of the newest timetable, if there is one. This call is cheap.
    pub async fn newest_timetable(&self) -> Result<Option<u32>> {
        self.installation
            .read((), |tx, ()| Box::pin(newest_version(tx)))
            .await
    }

    /// Returns a version of the timetable.
    pub async fn timetable(&self, version: u32) -> Result<Option<StoredTimetable>> {
        self.installation
            .read((), move |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT timetable, plans, kept FROM timetables WHERE version = $1";
                    let Some(row) = tx.first(sql, &[&version]).await? else {
                        return Ok(None);
                    };
                    Ok(Some(StoredTimetable {
                        text: row.get(0)?,
                        plans: from_json(text(&row, 1)?)?,
                        kept: from_json(text(&row, 2)?)?,
                    }))
                })
            })
            .await
    }
}

async fn put_timetable(
    tx: &SqlTransaction,
    new: &NewTimetable,
    switch: &TimetableSwitch,
    now_ms: i64,
) -> std::result::Result<SwitchedTimetable, TimetableRefused> {
    lock_catalogue(tx).await?;
    lock_switch(tx).await?;
    let sql = "SELECT version, digest, plans FROM timetables ORDER BY version DESC LIMIT 1";
    let newest = tx.first(sql, &[]).await?;
    let present: Vec<(VenueId, u32)> = match &newest {
        Some(newest) => from_json(text(newest, 2)?)?,
        None => Vec::new(),
    };
    let mut plans = Vec::new();
    for plan in &new.plans {
        plans.push((
            plan.venue.as_str(),
            plan_version(tx, plan, &present, now_ms).await?,
        ));
    }
    let plans = to_json(&plans)?;
    let mut version = 1_u32;
    let mut earlier = None;
    if let Some(newest) = newest {
        let present: u32 = small(&newest, 0)?;
        let is_same = newest.get::<&[u8]>(1)? == new.digest && text(&newest, 2)? == plans;
        if is_same && !switch.has_choices {
            return Ok(SwitchedTimetable {
                version: present,
                decided: Vec::new(),
            });
        }
        version = present + 1;
        earlier = Some(present);
    }
    if earlier != switch.earlier {
        return Err(TimetableRefused::Replaced);
    }
    let decided = touched_departures::take_over(tx, &switch.decide, now_ms).await?;
    let kept = touched_departures::kept(&decided);
    put_version(tx, (version, new, &plans), &kept, now_ms).await?;
    raise_version(tx).await?;
    let switched = SwitchedTimetable {
        version,
        decided: decided.into_iter().map(|(_, decided)| decided).collect(),
    };
    if switch.is_preview {
        // An error rolls the whole transaction back.
        return Err(TimetableRefused::Preview(Box::new(switched)));
    }
    Ok(switched)
}

/// Returns the version of a train's plan. It stays the one of the timetable in force while the plan
/// is the same: trains that got other stops may have a newer version of it.
async fn plan_version(
    tx: &SqlTransaction,
    plan: &NewSeatingPlan,
    present: &[(VenueId, u32)],
    now_ms: i64,
) -> Result<u32> {
    let venue = plan.venue.as_str();
    let mut present = present.iter().filter(|(known, _)| *known == plan.venue);
    if let Some((_, version)) = present.next() {
        let sql = "SELECT digest FROM venues WHERE venue = $1 AND version = $2";
        let known = tx.first(sql, &[&venue, version]).await?;
        let digest = known.as_ref().map(|row| row.get::<&[u8]>(0)).transpose()?;
        if digest == Some(&plan.digest[..]) {
            return Ok(*version);
        }
    }
    put_plan(tx, venue, &plan.plan, plan.digest, now_ms).await
}

async fn put_version(
    tx: &SqlTransaction,
    (version, new, plans): (u32, &NewTimetable, &str),
    kept: &[KeptDeparture],
    now_ms: i64,
) -> Result<()> {
    let kept = to_json(&kept)?;
    let sql = "INSERT INTO timetables (version, timetable, plans, digest, created_at, kept) \
         VALUES ($1, $2, $3, $4, $5, $6)";
    tx.execute(
        sql,
        &[&version, &new.text, &plans, &new.digest, &now_ms, &kept],
    )
    .await?;
    Ok(())
}
