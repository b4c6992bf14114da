//! Copies the joins from Redis to the ledger, seconds after they were answered. The copier reads
//! the feed in batches, and removes the entries that the ledger has. Copying twice is harmless. The
//! ledger refuses copies of a life that has ended.

use std::sync::Arc;

use fairgate_redis::RedisReply;

use super::caller::RoomScriptRunner;
use super::read;
use super::scripts::{
    AnyRoomFamily, FindLeaverScript, ReadLineFeedScript, SalvageFeedScript, TrimLineFeedScript,
};
use crate::ledger::{LineCopyOutcome, LineFeedEntry, RoomLedger, RoomLife};
use crate::store::{StoreFailure, StoreLeaveRequest};

/// At most this many entries are in one batch.
const BATCH: u32 = 1000;
/// One run with `takes_turns` copies at most this many batches. After that, other rooms have their
/// turn.
const BATCHES_A_TURN_MAX: u32 = 20;
/// If a copier has been silent for this long (ms), another node copies instead.
const COPIER_SILENT_MS: u64 = 2000;

/// Copies the line of a room into the ledger.
pub struct LineCopier {
    pub ledger: RoomLedger,
    pub scripts: Arc<RoomScriptRunner>,
    /// This process's name among the nodes.
    pub node: String,
}

impl LineCopier {
    /// Copies the whole feed to the ledger. With `takes_turns`, copies nothing while another node
    /// copies, and otherwise at most [`BATCHES_A_TURN_MAX`] batches.
    pub async fn copy_line(
        &self,
        room: &str,
        life: &RoomLife,
        takes_turns: bool,
    ) -> Result<(), StoreFailure> {
        for batch in 1.. {
            let take = ReadLineFeedScript {
                node: self.node.clone(),
                alone_ms: COPIER_SILENT_MS,
                entries_max: BATCH,
                must: !takes_turns,
            };
            let taken = self.scripts.run(room, life, take).await?;
            let Some((last, rows)) = read_feed_entries(&taken)? else {
                return Ok(());
            };
            let is_full_batch = rows.len() >= BATCH as usize;
            let copied = self.copy_rows(room, life, rows).await?;
            let nobodys = copied.voided.into_iter().chain(copied.refused);
            let trim = TrimLineFeedScript {
                first_left: read::id_after(&last),
                nobodys: nobodys.collect(),
            };
            self.scripts.run(room, life, trim).await?;
            if !is_full_batch || (takes_turns && batch == BATCHES_A_TURN_MAX) {
                break;
            }
        }
        Ok(())
    }

    /// Copies to the ledger the entries that the last life left in the feed. Their numbers were
    /// given to visitors, so the entries must not be lost with that life.
    pub async fn salvage(&self, room: &str, life: &RoomLife) -> Result<(), StoreFailure> {
        let mut from = "-".to_owned();
        loop {
            let salvage = SalvageFeedScript {
                from,
                entries_max: BATCH,
            };
            let leftover = self.scripts.run_as(room, AnyRoomFamily {}, salvage).await?;
            let Some((last, rows)) = read_feed_entries(&leftover)? else {
                return Ok(());
            };
            tracing::info!(
                room,
                rows = rows.len(),
                "copying to the ledger the entries that the last life left behind"
            );
            self.copy_rows(room, life, rows).await?;
            from = read::id_after(&last);
        }
    }

    /// Writes to the ledger that a visitor left. Also writes the visitor's join, in case the ledger
    /// does not have it yet. Calling again is harmless.
    pub async fn record_leaving(
        &self,
        room: &str,
        life: &RoomLife,
        leaving: &StoreLeaveRequest,
    ) -> Result<(), StoreFailure> {
        let number = leaving.number;
        let leaver = self
            .scripts
            .run(room, life, FindLeaverScript { number })
            .await?;
        if let Some((join, void)) = read::leaving(&leaver, leaving.number)? {
            let leave = LineFeedEntry::Leave {
                number: leaving.number,
                at: leaving.now,
                void,
            };
            self.copy_rows(room, life, vec![LineFeedEntry::Join(join), leave])
                .await?;
        }
        Ok(())
    }

    async fn copy_rows(
        &self,
        room: &str,
        life: &RoomLife,
        rows: Vec<LineFeedEntry>,
    ) -> Result<LineCopyOutcome, StoreFailure> {
        let count = rows.len() as u64;
        let copied = self.ledger.copy_line(room, life.incarnation, rows).await?;
        metrics::counter!("fairgate_line_rows_copied_total", "room" => room.to_owned())
            .increment(count);
        copied.ok_or_else(|| StoreFailure::NotReady("another life has begun".into()))
    }
}

/// Reads the rows of the feed and the id of the last row. Returns `None` if there are no rows.
fn read_feed_entries(
    reply: &RedisReply,
) -> Result<Option<(String, Vec<LineFeedEntry>)>, fairgate_redis::RedisCallError> {
    let mut last = None;
    let rows = reply.read_stream(|id, fields| {
        last = Some(id.to_owned());
        read::feed_entry(fields)
    })?;
    Ok(last.map(|last| (last, rows)))
}
