//! The transitions of the line, each of them one script.

use std::sync::PoisonError;
use std::time::Duration;

use async_trait::async_trait;
use fairgate_pass::{Digest, Holder};

use super::here::{SLOT_LIVES_MS, slot};
use super::keys::SCRIPTS;
use super::lease::LEASE;
use super::{RedisStore, read};
use crate::ledger::{Changed, Entry, Failure, Freeze, FreezeRecorded};
use crate::store::{
    Claimant, Claimed, Counts, Entered, Entrant, Figures, Freezing, JoinRefused, Leaving, Moment,
    Numbers, Place, RoomStore, Shown, Standing, StoreFailure, TickEnd,
};
use fairgate_rules::cohort::WAY_IN_LAPSES_MS;

/// A join that finds its block used up waits for another so often.
const JOIN_TRIES: usize = 3;
/// Beyond the leases, for a clock's grain.
const LEASE_MARGIN: Duration = Duration::from_millis(50);

impl RedisStore {
    /// One join, in the life that is held before it and after it: what is answered was given in time.
    async fn join_once(&self, room: &str, entrant: &Entrant) -> Result<Option<Place>, JoinRefused> {
        let life = self.held(room)?;
        let code = entrant.code.map_or_else(Vec::new, |code| code.0.to_vec());
        let join = self
            .call(room, &life, &SCRIPTS.join)
            .arg(&entrant.holder.0[..])
            .arg(&entrant.now.to_be_bytes()[..])
            .arg(code)
            .arg(u32::from(entrant.needs_code))
            .arg(slot(entrant.now.div_euclid(1000)))
            .arg(entrant.now)
            .arg(SLOT_LIVES_MS);
        let joined = self.run(&join).await?;
        match read::kind(&joined).map_err(StoreFailure::from)? {
            "code_invalid" => Err(JoinRefused::CodeInvalid),
            "code_used" => Err(JoinRefused::CodeUsed),
            "codes_due" => {
                let due = "the room's codes are being replaced";
                Err(StoreFailure::NotReady(due.into()).into())
            }
            "full" => {
                self.reserve_now(room, &life).await?;
                Ok(None)
            }
            _ if self.held(room)?.incarnation != life.incarnation => {
                Err(StoreFailure::NotReady("another life has begun".into()).into())
            }
            _ => Ok(Some(read::place(&joined).map_err(StoreFailure::from)?)),
        }
    }
}

#[async_trait]
impl RoomStore for RedisStore {
    fn warnings(&self) -> Vec<String> {
        let lives = self.lease().lives();
        self.inner.condition.warnings(&lives, self.now_ms())
    }

    async fn open(&self, room: &str) -> Result<(), Failure> {
        let opened = {
            let mut rooms = self
                .inner
                .rooms
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            let before = rooms.len();
            rooms.entry(room.to_owned()).or_default();
            rooms.len() > before
        };
        // The rounds would come to it; whoever made the room need not wait for them.
        if opened && let Err(error) = self.read_lives().await {
            tracing::warn!(room, %error, "the room's life could not be read yet");
        }
        if opened && let Err(error) = self.tend(room).await {
            tracing::warn!(room, %error, "the room is not in Redis yet");
        }
        Ok(())
    }

    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: Entry,
    ) -> Result<Changed, StoreFailure> {
        // In a task of its own: a promoter who hangs up in the middle must not leave joins waiting.
        let (store, room) = (self.clone(), room.to_owned());
        let put = tokio::spawn(async move { store.replace_codes(&room, codes, entry).await });
        put.await
            .unwrap_or_else(|error| Err(StoreFailure::NotReady(error.to_string())))
    }

    async fn join(&self, room: &str, entrant: Entrant) -> Result<Place, JoinRefused> {
        for _ in 0..JOIN_TRIES {
            if let Some(place) = self.join_once(room, &entrant).await? {
                return Ok(place);
            }
        }
        let used_up = "more joined at once than numbers were reserved";
        Err(StoreFailure::NotReady(used_up.into()).into())
    }

    async fn standing(&self, room: &str, shown: Shown) -> Result<Standing, StoreFailure> {
        Ok(self.standing_of(room, &shown).await)
    }

    async fn bring_back(&self, room: &str, shown: &[Shown]) -> Result<u64, StoreFailure> {
        self.take_back(room, shown).await
    }

    async fn place_of(&self, room: &str, holder: Holder) -> Result<Option<Place>, StoreFailure> {
        self.place_by(room, holder).await
    }

    async fn leave(&self, room: &str, leaving: Leaving) -> Result<(), StoreFailure> {
        // The ledger first: whoever is told that they have left stays away, whatever Redis loses a moment later.
        let life = self.life(room)?;
        self.record_leaving(room, &life, &leaving).await?;
        let rank = leaving
            .rank
            .map_or_else(String::new, |rank| rank.to_string());
        let leave = self.call(room, &life, &SCRIPTS.leave);
        self.run(&leave.arg(leaving.number).arg(rank)).await?;
        Ok(())
    }

    async fn freeze(&self, room: &str, now: i64) -> Result<Freezing, StoreFailure> {
        if let Some(freeze) = self.ledger().draw(room).await?.freeze {
            return Ok(Freezing::Done(freeze));
        }
        let life = self.held(room)?;
        if now < life.freezes_from() {
            return Ok(Freezing::NotBefore(life.freezes_from()));
        }
        let n = self.run(&self.call(room, &life, &SCRIPTS.freeze)).await?;
        let freeze = Freeze {
            n: n.count()?,
            at: now,
        };
        // A node that read an older life may still give numbers of it, until it must read again.
        tokio::time::sleep(LEASE + LEASE_MARGIN).await;
        self.copy(room, &life, false).await?;
        let recorded = self
            .ledger()
            .record_freeze(room, freeze, Some(life.incarnation));
        match recorded.await? {
            FreezeRecorded::Stands(freeze) => Ok(Freezing::Done(freeze)),
            FreezeRecorded::NotBefore(at) => Ok(Freezing::NotBefore(at)),
            FreezeRecorded::OtherLife => {
                Err(StoreFailure::NotReady("another life has begun".into()))
            }
        }
    }

    async fn settle(&self, room: &str) -> Result<(), StoreFailure> {
        self.copy(room, &self.life(room)?, false).await
    }

    async fn enter(&self, room: &str, claimant: Claimant) -> Result<Entered, StoreFailure> {
        let enter = self
            .call(room, &self.life(room)?, &SCRIPTS.enter)
            .arg(claimant.number)
            .arg(claimant.rank)
            .arg(claimant.released)
            .arg(claimant.max_inside)
            .arg(u32::from(claimant.line))
            .arg(claimant.now)
            .arg(claimant.now.saturating_add(WAY_IN_LAPSES_MS));
        let reply = self.run(&enter).await?;
        Ok(match read::kind(&reply)? {
            "lives" => Entered::Lives,
            "let" => Entered::Let {
                first: reply.at(1)?.int()? == 1,
            },
            _ => Entered::Wait,
        })
    }

    async fn claimed(&self, room: &str, claimed: Claimed) -> Result<bool, StoreFailure> {
        let reserved = claimed
            .reserved
            .map_or_else(String::new, |rank| rank.to_string());
        let call = self.call(room, &self.life(room)?, &SCRIPTS.claimed);
        let call = call.arg(claimed.number).arg(reserved).arg(claimed.exp_s);
        Ok(self.run(&call).await?.int()? == 1)
    }

    async fn turned_back(&self, room: &str, rank: u64, first: bool) -> Result<(), StoreFailure> {
        let call = self.call(room, &self.life(room)?, &SCRIPTS.turned_back);
        self.run(&call.arg(rank).arg(u32::from(first))).await?;
        Ok(())
    }

    async fn done(&self, room: &str, cursor: u64, holders: &[Holder]) -> Result<(), StoreFailure> {
        let call = self
            .call(room, &self.life(room)?, &SCRIPTS.done)
            .arg(cursor);
        self.run(&call.args(holders.iter().map(|holder| &holder.0[..])))
            .await?;
        Ok(())
    }

    async fn figures(&self, room: &str, moment: Moment) -> Result<Figures, StoreFailure> {
        let call = self
            .call(room, &self.life(room)?, &SCRIPTS.figures)
            .arg(moment.now)
            .arg(moment.claim_ms)
            .arg(self.node())
            .arg(moment.vitals)
            .args(moment.ends_s);
        Ok(read::figures(&self.run(&call).await?, self.node())?)
    }

    async fn ticked(&self, room: &str, end: TickEnd) -> Result<bool, StoreFailure> {
        let mut call = self
            .call(room, &self.life(room)?, &SCRIPTS.ticked)
            .arg(end.since)
            .arg(end.until)
            .arg(end.owed_u)
            .arg(end.credit_u)
            .arg(end.per_s_u)
            .arg(self.node())
            .arg(end.left.row.released)
            .arg(end.left.row.remainder_u)
            .arg(end.left.row.ticked_at)
            .arg(end.left.row.memory)
            .arg(end.left.memory);
        if let Some(called) = end.called {
            let first = called.from / 8 * 8;
            let bytes = usize::try_from((called.to - first).div_ceil(8)).unwrap_or(0);
            let mut away = vec![0_u8; bytes];
            for rank in called.away {
                let at = usize::try_from((rank - first) / 8).unwrap_or(usize::MAX);
                if let Some(byte) = away.get_mut(at) {
                    *byte |= 0x80 >> (rank % 8);
                }
            }
            call = call
                .arg(called.from)
                .arg(called.to)
                .arg(end.now)
                .arg(called.people)
                .arg(away);
        }
        Ok(self.run(&call).await?.int()? == 1)
    }

    async fn counts(&self, room: &str, now_s: i64) -> Result<Counts, StoreFailure> {
        let call = self.call(room, &self.life(room)?, &SCRIPTS.counts);
        Ok(read::counts(&self.run(&call.arg(now_s)).await?)?)
    }

    async fn absent(&self, room: &str) -> Result<Numbers, StoreFailure> {
        self.absent_now(room).await
    }

    async fn seen(&self, room: &str, numbers: &[u64], now_s: i64) -> Result<u64, StoreFailure> {
        self.note_seen(room, numbers, now_s).await
    }

    async fn away(&self, room: &str, now_s: i64) -> Result<Numbers, StoreFailure> {
        self.away_at(room, now_s).await
    }
}
