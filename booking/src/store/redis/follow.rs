//! Keeps each process up to date. The process reads the feeds of the shows that it serves and keeps
//! the pictures of these shows, so that frequent questions are answered from memory.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use fairgate_redis::{RedisCallError, RedisReply};
use tokio::task::JoinSet;

use super::cached_show::{self, CachedShow, FeedSequenceGap};
use super::followed::{FeedPoint, FollowedShow, ShowCloseReason};
use super::scripts::{CloseRegressedScript, ReadShowFeedScript, ShowSnapshotScript};
use super::{InventoryStoreState, REFRESH};
use crate::store::InventoryRefusal;

/// The maximum number of entries of a feed that one call reads.
const ENTRIES_MAX: usize = 512;
/// How often the feeds of shows in use are read.
const FOLLOW_EVERY: Duration = Duration::from_millis(50);
/// How often the feed of a show at rest is read, if the show has holds.
const IDLE_EVERY: Duration = Duration::from_secs(2);
/// This process forgets a show that has no holds and was neither used nor read for this long.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// How often this process checks that this Redis still belongs to its ledger.
const CHECK_LEDGER_EVERY: Duration = Duration::from_secs(2);

/// What one reading of the feed found.
enum CatchUpOutcome {
    /// The feed was read to its end.
    UpToDate,
    /// The feed has more entries.
    More,
    /// The whole show must be read: no open picture is known, the show is in another life, or the
    /// feed no longer has the next change.
    Gap,
}

impl InventoryStoreState {
    /// Makes sure that the known picture is at most `REFRESH` old and contains every change that
    /// Redis has reported to this process.
    ///
    /// # Errors
    /// `NotReady` if the show is not open, `Unreachable` if Redis does not answer.
    pub(super) async fn refresh(&self, followed: &FollowedShow) -> Result<(), InventoryRefusal> {
        if followed.is_fresh(REFRESH) {
            return Ok(());
        }
        self.catch_up(followed).await
    }

    /// Reads the feed up to its end. Only one reading runs at a time, and other callers wait. If a
    /// reading begins after a waiting caller's call, that caller uses the result of the reading.
    pub(super) async fn catch_up(&self, followed: &FollowedShow) -> Result<(), InventoryRefusal> {
        let called_at = Instant::now();
        let _one_at_a_time = followed.catch_up_lock.lock().await;
        if followed.state().fresh_at.is_some_and(|at| at >= called_at) {
            return match followed.state().closed {
                Some(_) => Err(InventoryRefusal::NotReady),
                None => Ok(()),
            };
        }
        loop {
            let began_at = Instant::now();
            match self.read_new_entries(followed).await {
                Ok(CatchUpOutcome::More) => {}
                Ok(CatchUpOutcome::UpToDate) => {
                    followed.state().fresh_at = Some(began_at);
                    return Ok(());
                }
                Ok(CatchUpOutcome::Gap) => {
                    self.read_whole(followed).await?;
                    followed.state().fresh_at = Some(began_at);
                    return Ok(());
                }
                Err(refused) => {
                    if refused == InventoryRefusal::NotReady {
                        followed.state().fresh_at = Some(began_at);
                    }
                    return Err(refused);
                }
            }
        }
    }

    async fn read_new_entries(
        &self,
        followed: &FollowedShow,
    ) -> Result<CatchUpOutcome, InventoryRefusal> {
        let newest_known = followed.newest();
        let known_point = {
            let state = followed.state();
            // After a loss the known picture is of an old life, so the whole show must be read.
            let usable = state.known.as_ref().filter(|_| state.closed.is_none());
            usable.map(|known| (known.life, known.position()))
        };
        let Some((life, (counter, sub))) = known_point else {
            return Ok(CatchUpOutcome::Gap);
        };
        let follow = ReadShowFeedScript {
            counter,
            sub,
            entries_max: ENTRIES_MAX as u64,
        };
        let reply = match self.call(followed, life, follow).await {
            Ok(reply) => reply,
            Err(RedisCallError::Refused(code, _)) if code == "LIFE" => {
                return Ok(CatchUpOutcome::Gap);
            }
            Err(error) => return Err(self.refusal(followed, life, error).await),
        };
        let unreadable = |error: RedisCallError| {
            tracing::error!(show = %followed.show, %error, "the feed cannot be read; reading the whole picture");
            followed.state().known = None;
            InventoryRefusal::Unreachable
        };
        let (counter, sub) = reply
            .field("at")
            .and_then(cached_show::position)
            .map_err(unreadable)?;
        self.check_not_regressed(followed, newest_known, (life, counter, sub))
            .await?;
        self.apply_entries(followed, life, (counter, sub), &reply)
            .map_err(unreadable)
    }

    /// Checks that the point in Redis's answer is not older than the point that was known before
    /// the call. An older point means that Redis went back to older data, although the life and the
    /// id of the server's history are the same. Seats that are held would then be free again, so
    /// the show is closed for all processes until it is opened from the ledger.
    async fn check_not_regressed(
        &self,
        followed: &FollowedShow,
        newest_known: FeedPoint,
        now: FeedPoint,
    ) -> Result<(), InventoryRefusal> {
        if now >= newest_known {
            return Ok(());
        }
        self.close_show(followed, &mut followed.state(), ShowCloseReason::Regressed);
        let (life, counter, sub) = newest_known;
        let closed_for_all = self
            .call(followed, life, CloseRegressedScript { counter, sub })
            .await;
        if let Err(error) = closed_for_all {
            tracing::warn!(show = %followed.show, %error, "a show whose data is older than before could not be closed for the other processes");
        }
        Err(InventoryRefusal::NotReady)
    }

    fn apply_entries(
        &self,
        followed: &FollowedShow,
        life: u64,
        newest: (u64, u64),
        reply: &RedisReply,
    ) -> Result<CatchUpOutcome, RedisCallError> {
        let entries = reply.field("entries")?;
        let mut signals = Vec::new();
        let found = {
            let mut state = followed.state();
            let Some(known) = state.known.as_mut().filter(|known| known.life == life) else {
                return Ok(CatchUpOutcome::Gap);
            };
            let mut gap = false;
            // After a gap, the other entries are not applied.
            let read = entries.read_stream(|id, fields| {
                if !gap {
                    match known.apply_entry(&followed.show, id, fields)? {
                        Ok(signal) => signals.extend(signal),
                        Err(FeedSequenceGap) => gap = true,
                    }
                }
                Ok(())
            })?;
            match (gap, known.position() == newest) {
                (false, true) => CatchUpOutcome::UpToDate,
                (false, false) if read.len() == ENTRIES_MAX => CatchUpOutcome::More,
                _ => CatchUpOutcome::Gap,
            }
        };
        for signal in signals {
            // If no socket listens, there is no receiver. This is not an error.
            let _ = self.signals.send(signal);
        }
        Ok(found)
    }

    /// Reads the whole show in its current life.
    pub(super) async fn read_whole(&self, followed: &FollowedShow) -> Result<(), InventoryRefusal> {
        let seen = followed.newest();
        let answer = self
            .call_in_current_life(followed, ShowSnapshotScript {})
            .await;
        let reply = match answer {
            Ok(reply) => reply,
            Err(error) => return Err(self.refusal(followed, 0, error).await),
        };
        let known = CachedShow::from_snapshot(&reply).map_err(|error| {
            tracing::error!(show = %followed.show, %error, "a show in Redis cannot be read");
            InventoryRefusal::Unreachable
        })?;
        let (counter, sub) = known.position();
        self.check_not_regressed(followed, seen, (known.life, counter, sub))
            .await?;
        let mut state = followed.state();
        state.closed = None;
        state.known = Some(known);
        Ok(())
    }
}

/// Reads the feeds of the followed shows, and forgets shows that nobody uses, for as long as the
/// store exists.
pub(super) async fn follow_shows(store: Weak<InventoryStoreState>) {
    let mut ticks = tokio::time::interval(FOLLOW_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut checked_at: Option<Instant> = None;
    loop {
        ticks.tick().await;
        let Some(store) = store.upgrade() else {
            return;
        };
        if checked_at.is_none_or(|at| at.elapsed() > CHECK_LEDGER_EVERY) {
            checked_at = Some(Instant::now());
            store.check_ledger().await;
        }
        let mut reading = JoinSet::new();
        for followed in store.followed_shows() {
            if followed.may_be_forgotten(FORGET_AFTER) {
                store.forget(&followed.show);
            } else if followed.wants_reading(store.options.idle, IDLE_EVERY) {
                let store = Arc::clone(&store);
                reading.spawn(async move {
                    // The show remembers the result of the catch-up, and the next tick tries again.
                    let _ = store.catch_up(&followed).await;
                });
            }
        }
        while reading.join_next().await.is_some() {}
    }
}
