//! Replacing the codes of a room that nobody has joined. Ledger and Redis change one after the other, so nobody joins in
//! between: a code that one of them does not have would give a number and void it again.

use fairgate_pass::Digest;

use super::RedisStore;
use super::scripts::{HoldCodesScript, PutCodesScript};
use crate::ledger::{Changed, Entry, RoomLife};
use crate::store::StoreFailure;

/// Codes that one script takes.
const BATCH: usize = 1000;
/// Joins wait for codes at most so long, milliseconds, which is longer than any list takes. Then whoever was putting them
/// there is gone, and the ledger's are put in their place.
pub const WAITED_FOR_MS: i64 = 60_000;

impl RedisStore {
    pub(super) async fn replace_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: Entry,
    ) -> Result<Changed, StoreFailure> {
        let life = self.life(room)?;
        let now_ms = self.now_ms();
        let held = self.run(room, &life, HoldCodesScript { now_ms }).await?;
        if held.int()? == 0 {
            return Ok(Changed::Joined);
        }
        // Whatever the ledger answers, Redis gets what it has: its own list where the answer was lost.
        let written = self.ledger().put_codes(room, codes.clone(), entry).await;
        match written {
            Ok(Changed::To(version)) => {
                self.fill_with(room, &life, &codes).await?;
                Ok(Changed::To(version))
            }
            other => {
                self.codes_of_ledger(room, &life).await?;
                Ok(other?)
            }
        }
    }

    /// Puts the ledger's codes in place and lets joins go on.
    pub(super) async fn codes_of_ledger(
        &self,
        room: &str,
        life: &RoomLife,
    ) -> Result<(), StoreFailure> {
        let line = self.ledger().bare_line(room).await?;
        let codes: Vec<Digest> = line.codes.into_iter().map(|(code, _)| code).collect();
        self.fill_with(room, life, &codes).await
    }

    async fn fill_with(
        &self,
        room: &str,
        life: &RoomLife,
        codes: &[Digest],
    ) -> Result<(), StoreFailure> {
        let count = codes.len().div_ceil(BATCH).max(1);
        for at in 0..count {
            let batch = codes.chunks(BATCH).nth(at).unwrap_or_default();
            let put = PutCodesScript {
                is_first: at == 0,
                is_last: at + 1 == count,
                codes: batch.iter().map(|code| code.0).collect(),
            };
            if self.run(room, life, put).await?.int()? == 0 {
                return Err(StoreFailure::NotReady(
                    "its codes were put in place meanwhile".into(),
                ));
            }
        }
        Ok(())
    }
}
