//! Reads which passes and places of a room ended early. Reports them to booking, to the room store,
//! and to the visitors who are connected here. If a report fails, the same passes and places are
//! read again the next time.

use std::sync::Arc;

use fairgate_pass::LEEWAY_S;

use super::RoomFollower;
use crate::ledger::{EndedPass, LedgerError, PassStopCause, RoomVersion, StoppedPass};
use crate::personal::PersonalEvent;
use crate::room::Room;
use crate::store::{EndedVisit, StoreLeaveRequest};
use crate::upstream::{EndedVisitNotice, StoppedPassNotice};

impl RoomFollower {
    /// Reads which passes and places ended since the last reading, and reports them.
    pub(super) async fn read_stops(
        &self,
        room: &Room,
        seen: &RoomVersion,
    ) -> Result<(), LedgerError> {
        let stops = room.stops();
        stops.set_revoked_count(seen.revoked);
        let after = stops.cursor();
        if seen.stops <= after {
            return Ok(());
        }
        let now = self.rooms().now_ms();
        let accepted_after_s = now.div_euclid(1000) - LEEWAY_S;
        let ledger = self.rooms().ledger();
        let read = ledger
            .stopped_passes(room.id(), after, accepted_after_s)
            .await?;
        stops.note(&read, now.div_euclid(1000));
        if self.report_ended(room, &read.ended).await
            && self.report_stopped(room, &read.stopped, now).await
        {
            stops.note_passed_on(read.cursor);
        }
        Ok(())
    }

    /// Reports visits that ended early. Returns whether booking and the store took the report.
    async fn report_ended(&self, room: &Room, ended: &[EndedPass]) -> bool {
        if ended.is_empty() {
            return true;
        }
        let to_notice = |pass: &EndedPass| StoppedPassNotice {
            number: pass.number,
            expires_s: pass.exp,
            holder: pass.holder,
            visit: Some(EndedVisitNotice {
                issued_s: pass.issued_s,
                cause: pass.cause,
            }),
        };
        let notices = ended.iter().map(to_notice).collect();
        if let Err(error) = self.rooms().core().stop_passes(room.id(), notices).await {
            tracing::debug!(room = room.id(), %error, "booking does not know the ended visits yet");
            return false;
        }
        let to_visit = |pass: &EndedPass| EndedVisit {
            number: pass.number,
            pass_exp_s: pass.exp,
            ended_s: pass.ended_s,
        };
        let visits: Vec<EndedVisit> = ended.iter().map(to_visit).collect();
        if let Err(error) = self.rooms().store().end_visits(room.id(), &visits).await {
            tracing::debug!(room = room.id(), %error, "the store does not know the ended visits yet");
            return false;
        }
        for pass in ended {
            let event = PersonalEvent::VisitEnded {
                room: room.id().into(),
                number: pass.number,
                cause: pass.cause,
            };
            self.inner.personal.notify_holder(pass.holder, &event);
        }
        true
    }

    /// Reports stopped passes and ended places. Returns whether booking and the store took the
    /// report.
    async fn report_stopped(&self, room: &Room, stopped: &[StoppedPass], now: i64) -> bool {
        let accepted_after_s = now.div_euclid(1000) - LEEWAY_S;
        // A revoked visitor may be on a waitlist without a valid pass, so booking learns of every
        // revoked visitor.
        let passes: Vec<StoppedPassNotice> = stopped
            .iter()
            .filter(|pass| pass.exp > accepted_after_s || pass.cause == PassStopCause::Revoked)
            .map(|pass| StoppedPassNotice {
                number: pass.number,
                expires_s: pass.exp,
                holder: pass.holder,
                visit: None,
            })
            .collect();
        if !passes.is_empty()
            && let Err(error) = self.rooms().core().stop_passes(room.id(), passes).await
        {
            // The outage itself is logged by the calls to booking.
            tracing::debug!(room = room.id(), %error, "booking does not know the stopped passes yet");
            return false;
        }
        let revoked: Vec<&StoppedPass> = stopped
            .iter()
            .filter(|pass| pass.cause == PassStopCause::Revoked)
            .collect();
        let ended: Vec<StoreLeaveRequest> = revoked
            .iter()
            .map(|pass| StoreLeaveRequest {
                number: pass.number,
                rank: room.rank(pass.number),
                now,
            })
            .collect();
        if !ended.is_empty()
            && let Err(error) = self.rooms().store().end_places(room.id(), &ended).await
        {
            tracing::debug!(room = room.id(), %error, "the store does not know the ended places yet");
            return false;
        }
        for pass in revoked {
            let event = PersonalEvent::Revoked {
                room: room.id().into(),
                number: pass.number,
                note: Arc::from(pass.note.as_str()),
            };
            self.inner.personal.notify_holder(pass.holder, &event);
        }
        true
    }

    /// Tells the visitors of a room that all places below a number have ended.
    pub(super) fn tell_cleared(&self, room: &Room, below: u64, note: &str) {
        self.inner.personal.notify_all(&PersonalEvent::Cleared {
            room: room.id().into(),
            below,
            note: Arc::from(note),
        });
    }
}
