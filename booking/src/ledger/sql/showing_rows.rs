//! Reads the shows of a cinema programme that are stored already, and decides what they keep.

use std::borrow::Cow;
use std::collections::HashMap;

use fairgate_databases::{SqlRow, SqlTransaction};
use fairgate_model::ids::VenueId;
use fairgate_model::shows::document::ShowDocument;

use super::plan_pins::older_than_pinned;
use super::rows::{Result, bytes32, from_json, small, text};
use crate::ledger::{NewProgramme, PlanPin};

/// A show of the programme that is stored already.
pub(super) struct StoredShowing {
    pub(super) document: ShowDocument,
    pub(super) plan_version: u32,
    /// The digest of the pinned plan.
    digest: Option<[u8; 32]>,
    is_postponed: bool,
}

impl StoredShowing {
    /// Returns the plan that the show pins.
    pub(super) fn pin(&self) -> PlanPin {
        PlanPin {
            venue: self.document.venue.clone(),
            version: self.plan_version,
        }
    }

    /// Returns the plan version that the show will pin at a hall with this plan. The version is its
    /// own one, or larger.
    pub(super) fn next_version(
        &self,
        hall: &VenueId,
        (version, digest): (u32, [u8; 32]),
    ) -> Result<u32> {
        let is_same = self.plan_version == version || self.digest == Some(digest);
        if self.document.venue == *hall && is_same {
            return Ok(self.plan_version);
        }
        if version > self.plan_version {
            return Ok(version);
        }
        Err(older_than_pinned(hall))
    }

    /// Returns the document that the show gets. A postponed show keeps its time, because its buyers
    /// rely on it.
    pub(super) fn with_own_time<'a>(&self, document: &'a ShowDocument) -> Cow<'a, ShowDocument> {
        if !self.is_postponed || self.document.starts_at == document.starts_at {
            return Cow::Borrowed(document);
        }
        Cow::Owned(ShowDocument {
            starts_at: self.document.starts_at,
            ..document.clone()
        })
    }
}

/// Shows of the programme that are stored already, by their ids.
pub(super) type StoredShowings = HashMap<String, StoredShowing>;

/// Returns those of the programme's shows that are stored.
pub(super) async fn stored_showings(
    tx: &SqlTransaction,
    programme: &NewProgramme,
) -> Result<StoredShowings> {
    let ids: Vec<&str> = programme.shows.iter().map(|(id, _)| id.as_str()).collect();
    let sql = "SELECT s.show, s.document::text, s.plan_version, v.digest, EXISTS (SELECT 1 \
             FROM show_fates f WHERE f.show = s.show AND f.fate = 'postponed') \
         FROM shows s LEFT JOIN venues v \
         ON v.venue = s.document ->> 'venue' AND v.version = s.plan_version \
         WHERE s.show = ANY ($1)";
    let present = tx.query(sql, &[&ids]).await?;
    let read = |row: &SqlRow| {
        let digest: Option<&[u8]> = row.get(3)?;
        let showing = StoredShowing {
            document: from_json(text(row, 1)?)?,
            plan_version: small(row, 2)?,
            digest: digest.map(bytes32).transpose()?,
            is_postponed: row.get(4)?,
        };
        Ok((row.get(0)?, showing))
    };
    present.iter().map(read).collect()
}
