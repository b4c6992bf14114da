//! The transitions of a tick: the figures that it starts from, and its end.

use std::sync::Arc;

use super::caller::RoomScriptRunner;
use super::lives::RoomLifeReader;
use super::read;
use super::scripts::{CalledRanksRecord, EndTickScript, RoomCountsScript, TickFiguresScript};
use crate::store::{
    CalledRanks, RoomCounts, StoreFailure, TickEnd, TickFigures, TickFiguresRequest,
};

/// Reads the figures of ticks, and stores their accounts.
pub struct TickTransitions {
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
    /// This process's name among the nodes.
    pub node: String,
}

impl TickTransitions {
    /// Reads all figures that a tick starts from, as of one moment.
    pub async fn tick_figures(
        &self,
        room: &str,
        request: TickFiguresRequest,
    ) -> Result<TickFigures, StoreFailure> {
        let figures = TickFiguresScript {
            now_ms: request.now,
            claim_ms: request.claim_ms,
            node: self.node.clone(),
            measured: request.vitals,
            ends_s: request.ends_s.clone(),
        };
        let reply = self
            .scripts
            .run(room, &self.lives.last_known_life(room)?, figures)
            .await?;
        Ok(read::figures(&reply, &request.ends_s, &self.node)?)
    }

    /// Ends a tick. Stores its accounts, unless another tick has ended first. Returns whether it
    /// stored them.
    pub async fn end_tick(&self, room: &str, end: TickEnd) -> Result<bool, StoreFailure> {
        let carryover = end.left;
        let ticked = EndTickScript {
            counted_since: end.since,
            counted_until: end.until,
            owed_u: end.owed_u,
            credit_u: end.credit_u,
            rate_u: end.rate_u,
            now_ms: end.now,
            node: self.node.clone(),
            row_released: carryover.row.released,
            row_remainder_u: carryover.row.remainder_u,
            row_ticked_at_ms: carryover.row.ticked_at,
            row_memory: carryover.row.memory,
            memory: carryover.memory,
            called: end
                .called
                .iter()
                .map(|called| called_record(called, end.now))
                .collect(),
        };
        let reply = self
            .scripts
            .run(room, &self.lives.last_known_life(room)?, ticked)
            .await?;
        Ok(reply.as_integer()? == 1)
    }

    /// Counts the room's visitors now.
    pub async fn counts(&self, room: &str, now_s: i64) -> Result<RoomCounts, StoreFailure> {
        let counts = RoomCountsScript { now_s };
        let reply = self
            .scripts
            .run(room, &self.lives.last_known_life(room)?, counts)
            .await?;
        Ok(read::counts(&reply)?)
    }
}

/// Converts the called ranks into the record that the script takes.
fn called_record(called: &CalledRanks, at_ms: i64) -> CalledRanksRecord {
    let first = called.from / 8 * 8;
    let bytes = usize::try_from((called.to - first).div_ceil(8)).unwrap_or(0);
    let mut away = vec![0_u8; bytes];
    for rank in &called.away {
        let at = usize::try_from((rank - first) / 8).unwrap_or(usize::MAX);
        if let Some(byte) = away.get_mut(at) {
            *byte |= 0x80 >> (rank % 8);
        }
    }
    CalledRanksRecord {
        from: called.from,
        to: called.to,
        at_ms,
        people: called.people,
        away,
    }
}
