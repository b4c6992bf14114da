//! The transitions of the line, each of them one script.

use std::sync::PoisonError;
use std::time::Duration;

use async_trait::async_trait;
use fairgate_pass::{Digest, Holder};

use super::lease::LEASE;
use super::presence::{SLOT_LIVES_MS, slot};
use super::scripts::{
    CalledRecord, ClaimedScript, CountsScript, DoneScript, EnterScript, FiguresScript,
    FreezeScript, JoinScript, LeaveScript, TickedScript, TurnedBackScript,
};
use super::{RedisStore, read};
use crate::ledger::{Changed, Entry, Failure, Freeze, FreezeRecorded};
use crate::store::{
    Called, Claimant, Claimed, Counts, Entered, Entrant, Figures, Freezing, JoinRefused, Leaving,
    Moment, Numbers, Place, RoomStore, Shown, Standing, StoreFailure, TickEnd,
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
        let join = JoinScript {
            holder: entrant.holder.0,
            written: entrant.now.to_be_bytes(),
            code: entrant.code.map(|code| code.0),
            needs_code: entrant.needs_code,
            slot: slot(entrant.now.div_euclid(1000)),
            now_ms: entrant.now,
            slot_lives_ms: SLOT_LIVES_MS,
        };
        let joined = self.run(room, &life, join).await?;
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

/// Writes ranks that were called as the script takes them.
fn called_record(called: &Called, at_ms: i64) -> CalledRecord {
    let first = called.from / 8 * 8;
    let bytes = usize::try_from((called.to - first).div_ceil(8)).unwrap_or(0);
    let mut away = vec![0_u8; bytes];
    for rank in &called.away {
        let at = usize::try_from((rank - first) / 8).unwrap_or(usize::MAX);
        if let Some(byte) = away.get_mut(at) {
            *byte |= 0x80 >> (rank % 8);
        }
    }
    CalledRecord {
        from: called.from,
        to: called.to,
        at_ms,
        people: called.people,
        away,
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
        let leave = LeaveScript {
            number: leaving.number,
            rank: leaving.rank,
        };
        self.run(room, &life, leave).await?;
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
        let n = self.run(room, &life, FreezeScript {}).await?;
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
        let enter = EnterScript {
            number: claimant.number,
            rank: claimant.rank,
            released: claimant.released,
            max_inside: claimant.max_inside,
            has_line: claimant.line,
            now_ms: claimant.now,
            lapses_ms: claimant.now.saturating_add(WAY_IN_LAPSES_MS),
        };
        let reply = self.run(room, &self.life(room)?, enter).await?;
        Ok(match read::kind(&reply)? {
            "lives" => Entered::Lives,
            "let" => Entered::Let {
                first: reply.at(1)?.int()? == 1,
            },
            _ => Entered::Wait,
        })
    }

    async fn claimed(&self, room: &str, claimed: Claimed) -> Result<bool, StoreFailure> {
        let claimed = ClaimedScript {
            number: claimed.number,
            reserved_rank: claimed.reserved,
            expires_s: claimed.exp_s,
        };
        let reply = self.run(room, &self.life(room)?, claimed).await?;
        Ok(reply.int()? == 1)
    }

    async fn turned_back(&self, room: &str, rank: u64, first: bool) -> Result<(), StoreFailure> {
        let turned_back = TurnedBackScript {
            rank,
            is_first: first,
        };
        self.run(room, &self.life(room)?, turned_back).await?;
        Ok(())
    }

    async fn done(&self, room: &str, cursor: u64, holders: &[Holder]) -> Result<(), StoreFailure> {
        let done = DoneScript {
            cursor,
            holders: holders.iter().map(|holder| holder.0).collect(),
        };
        self.run(room, &self.life(room)?, done).await?;
        Ok(())
    }

    async fn figures(&self, room: &str, moment: Moment) -> Result<Figures, StoreFailure> {
        let figures = FiguresScript {
            now_ms: moment.now,
            claim_ms: moment.claim_ms,
            node: self.node().to_owned(),
            measured: moment.vitals,
            ends_s: moment.ends_s,
        };
        let reply = self.run(room, &self.life(room)?, figures).await?;
        Ok(read::figures(&reply, self.node())?)
    }

    async fn ticked(&self, room: &str, end: TickEnd) -> Result<bool, StoreFailure> {
        let left = end.left;
        let ticked = TickedScript {
            counted_since: end.since,
            counted_until: end.until,
            owed_u: end.owed_u,
            credit_u: end.credit_u,
            per_s_u: end.per_s_u,
            node: self.node().to_owned(),
            row_released: left.row.released,
            row_remainder_u: left.row.remainder_u,
            row_ticked_at_ms: left.row.ticked_at,
            row_memory: left.row.memory,
            memory: left.memory,
            called: end
                .called
                .iter()
                .map(|called| called_record(called, end.now))
                .collect(),
        };
        let reply = self.run(room, &self.life(room)?, ticked).await?;
        Ok(reply.int()? == 1)
    }

    async fn counts(&self, room: &str, now_s: i64) -> Result<Counts, StoreFailure> {
        let counts = CountsScript { now_s };
        let reply = self.run(room, &self.life(room)?, counts).await?;
        Ok(read::counts(&reply)?)
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
