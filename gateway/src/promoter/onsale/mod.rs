//! Applies an on-sale file in one step. First the whole file is compared with what is in force; if
//! there is a fault or a conflict, nothing is written. Then the rooms are written in one
//! transaction, and after them, in one transaction of booking, which room covers which shows, the
//! venues and the shows. A crash in between leaves rooms whose shows are as they were, so nothing
//! is for sale that the file did not put on sale. Applying the file again completes it. The first
//! comparison finds all that booking would refuse. After the rooms are written, booking refuses
//! venues and shows only if an order or a change has come since that comparison.

pub(crate) mod http;
mod rooms;

use std::collections::BTreeSet;

use fairgate_model::ids::ShowId;
use fairgate_model::onsale::{OnsaleReport, OnsaleRequest, OnsaleStep};

use super::PromoterControls;
use super::controls::TRIES_MAX;
use crate::ledger::{AppliedRoomChange, LedgerError, RoomsRefused};
use crate::onsale::file::OnsaleFile;
use crate::upstream::{BookingFailure, OnsaleReply};
use rooms::ComparedRooms;

/// How an apply ended.
pub struct OnsaleOutcome {
    /// What the file changes. If this has a fault or a conflict, nothing was written.
    pub report: Result<OnsaleReport, OnsaleFailure>,
    /// The shows that are kept off sale until the file is applied.
    pub withheld: BTreeSet<ShowId>,
}

/// Why an on-sale file was not applied, although it has no fault.
#[derive(Debug, thiserror::Error)]
pub enum OnsaleFailure {
    /// Somebody kept changing the rooms of the file. Nothing was written.
    #[error("somebody kept changing the rooms of the file")]
    ChangedMeanwhile,
    /// The ledger failed before anything was written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The ledger did not confirm the rooms. Venues and shows were not written.
    #[error("the rooms of the file were not confirmed")]
    RoomsUnconfirmed(#[source] LedgerError),
    /// Booking failed before anything was written.
    #[error(transparent)]
    Booking(#[from] BookingFailure),
    /// The rooms were written, but booking did not confirm venues and shows.
    #[error("the rooms were written, but not the venues and shows")]
    RoomsOnly,
    /// Booking refused venues and shows, because something changed after the file was compared. It
    /// stored none of them.
    #[error("booking refused the venues and shows of the file")]
    Refused {
        /// The rooms that were created or changed before.
        stored_rooms: Vec<String>,
        /// Why booking refused.
        report: Box<OnsaleReport>,
    },
}

/// Returns why booking did not store the venues and shows of a file, unless it did.
fn booking_failure(
    written: Result<OnsaleReply, BookingFailure>,
    stored_rooms: Vec<String>,
) -> Result<(), OnsaleFailure> {
    match written {
        Ok(reply) if reply.written => Ok(()),
        Ok(reply) if !reply.report.is_applicable() => Err(OnsaleFailure::Refused {
            stored_rooms,
            report: Box::new(reply.report),
        }),
        Ok(_) => Err(OnsaleFailure::RoomsOnly),
        Err(failure) => {
            tracing::warn!(error = %failure, "booking did not confirm an on-sale file");
            Err(OnsaleFailure::RoomsOnly)
        }
    }
}

/// Gives the faults of a report their lines and columns, and sorts them.
fn locate_faults(file: &OnsaleFile, report: &mut OnsaleReport) {
    for fault in &mut report.faults {
        file.locate(fault);
    }
    report
        .faults
        .sort_by_key(|fault| (fault.line, fault.column));
}

impl PromoterControls {
    /// Applies an on-sale file, or reports what it would change.
    pub async fn apply_onsale(&self, file: &OnsaleFile, preview: bool) -> OnsaleOutcome {
        let mut withheld = BTreeSet::new();
        let mut report = match self.follower.lease_changes().await {
            Ok(lease) => {
                let report = self.apply_alone(file, preview, &mut withheld).await;
                lease.release_lease().await;
                report
            }
            Err(failure) => Err(failure.into()),
        };
        match &mut report {
            Ok(report) => locate_faults(file, report),
            Err(OnsaleFailure::Refused { report, .. }) => locate_faults(file, report),
            Err(_) => {}
        }
        OnsaleOutcome { report, withheld }
    }

    /// Does what [`Self::apply_onsale`] does, while no other node changes rooms. Adds the shows
    /// that are kept off sale to `withheld`, and takes them out once they are written.
    ///
    /// # Errors
    /// Fails if ledger or booking did not answer, if somebody kept changing the same rooms, or if
    /// booking refused the file after the rooms were stored.
    async fn apply_alone(
        &self,
        file: &OnsaleFile,
        preview: bool,
        withheld: &mut BTreeSet<ShowId>,
    ) -> Result<OnsaleReport, OnsaleFailure> {
        for _ in 0..TRIES_MAX {
            let compared = self.compare_rooms(file).await?;
            let mut request = OnsaleRequest {
                step: OnsaleStep::Compare,
                coverage: compared.coverage.clone(),
                rooms: file.rooms.iter().map(|room| room.id.clone()).collect(),
                venues: file.venues.clone(),
                shows: file.shows.clone(),
            };
            let mut report = OnsaleReport {
                faults: file.faults.clone(),
                ..OnsaleReport::default()
            };
            let at_booking = self.rooms.core().apply_onsale(&request).await?;
            report.append(at_booking.report);
            report.append(compared.report.clone());
            if preview || !report.is_applicable() {
                return Ok(report);
            }
            // The new rooms must not sell the shows as they are before the file is written.
            request.step = OnsaleStep::Withhold;
            let mut at_booking = self.rooms.core().apply_onsale(&request).await?;
            withheld.append(&mut at_booking.withheld.into_iter().collect());
            // Something may have changed at booking since the comparison.
            if !at_booking.report.is_applicable() {
                at_booking.report.append(compared.report);
                return Ok(at_booking.report);
            }
            let stored_rooms = compared.changed_rooms();
            match self.write_rooms(compared).await {
                Ok(()) => {}
                Err(OnsaleFailure::ChangedMeanwhile) => {
                    self.follower.catch_up().await?;
                    continue;
                }
                Err(failure) => return Err(failure),
            }
            request.step = OnsaleStep::Write;
            let written = self.rooms.core().apply_onsale(&request).await;
            if let Err(failure) = booking_failure(written, stored_rooms) {
                // The rooms are in force, so booking must at least know which shows they name.
                self.follower.owe_coverage();
                return Err(failure);
            }
            withheld.clear();
            return Ok(report);
        }
        Err(OnsaleFailure::ChangedMeanwhile)
    }

    /// Writes the rooms of the file and opens them on this node.
    async fn write_rooms(&self, compared: ComparedRooms) -> Result<(), OnsaleFailure> {
        let rooms = compared.rooms;
        self.rooms
            .ledger()
            .apply_rooms(rooms.clone())
            .await
            .map_err(|refused| match refused {
                RoomsRefused::ChangedMeanwhile => OnsaleFailure::ChangedMeanwhile,
                RoomsRefused::Ledger(error) => OnsaleFailure::RoomsUnconfirmed(error),
            })?;
        for room in rooms {
            match room.change {
                AppliedRoomChange::None => {}
                AppliedRoomChange::Create(_) => {
                    let taken_up = self.rooms.take_up(room.row).await;
                    drop(taken_up.map_err(OnsaleFailure::RoomsUnconfirmed)?);
                }
                AppliedRoomChange::Replace { .. } => {
                    if let Ok(open) = self.rooms.get(&room.row.room) {
                        self.follower.take_row(&open, room.row);
                        let hub = self.hubs.of_room(open.id());
                        hub.announce_room(&open, self.rooms.now_ms());
                        open.nudge();
                    }
                }
            }
        }
        Ok(())
    }
}
