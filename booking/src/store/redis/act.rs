//! Calls a show's scripts, and decides what a refusal means. The caller gets an error. If the
//! show's data cannot be relied on, the show is closed until it is opened again from the ledger.

use std::sync::atomic::Ordering;

use fairgate_model::holds::HoldPurpose;
use fairgate_model::ids::ShowId;
use fairgate_redis::{RedisCallError, RedisReply, ScriptCall, ScriptInvocation};

use super::followed::{FollowedShow, FollowedShowState, ShowCloseReason};
use super::scripts::{ReadShowFeedScript, ShowScriptContext};
use super::{InventoryStoreState, cached_show, keys, packing};
use crate::store::InventoryRefusal;

impl InventoryStoreState {
    /// Calls a show's script in a given life.
    pub(super) async fn call(
        &self,
        followed: &FollowedShow,
        life: u64,
        script: impl ScriptCall<Family = ShowScriptContext>,
    ) -> Result<RedisReply, RedisCallError> {
        let now_ms = self.options.clock.now_ms();
        self.call_at(followed, Some(life), now_ms, &script.prepare())
            .await
    }

    /// Calls a show's script in the show's current life.
    pub(super) async fn call_in_current_life(
        &self,
        followed: &FollowedShow,
        script: impl ScriptCall<Family = ShowScriptContext>,
    ) -> Result<RedisReply, RedisCallError> {
        let now_ms = self.options.clock.now_ms();
        self.call_at(followed, None, now_ms, &script.prepare())
            .await
    }

    async fn call_at(
        &self,
        followed: &FollowedShow,
        life: Option<u64>,
        now_ms: i64,
        script: &ScriptInvocation<ShowScriptContext>,
    ) -> Result<RedisReply, RedisCallError> {
        if self.foreign.load(Ordering::Relaxed) {
            return Err(RedisCallError::Unreachable(
                "it belongs to another ledger".into(),
            ));
        }
        let caller = ShowScriptContext {
            life,
            caller_ms: now_ms,
            clock_off_ms_max: self.options.clock_off_ms_max,
        };
        let meta = keys::meta_key(&followed.show);
        self.redis.run_script(&meta, caller, script).await
    }

    /// Makes one transition in the known life of the show. If another process has begun the next
    /// life, tries once more in that life. Returns the life of the transition, and the answer.
    pub(super) async fn run_transition(
        &self,
        show: &ShowId,
        script: impl ScriptCall<Family = ShowScriptContext>,
    ) -> Result<(u64, RedisReply), InventoryRefusal> {
        let now_ms = self.options.clock.now_ms();
        let followed = self.followed(show);
        self.run_transition_at(&followed, now_ms, script).await
    }

    pub(super) async fn run_transition_at(
        &self,
        followed: &FollowedShow,
        now_ms: i64,
        script: impl ScriptCall<Family = ShowScriptContext>,
    ) -> Result<(u64, RedisReply), InventoryRefusal> {
        let script = script.prepare();
        let mut life = match followed.life() {
            Some(life) => life,
            None => self.catch_up_life(followed).await?,
        };
        let mut may_retry = true;
        loop {
            match self.call_at(followed, Some(life), now_ms, &script).await {
                Ok(reply) => {
                    let at = reply.field("at").and_then(cached_show::position);
                    let at = at.map_err(|error| self.log_unreadable(followed, &error))?;
                    followed.note_feed_point(life, at);
                    return Ok((life, reply));
                }
                Err(RedisCallError::Refused(code, _)) if code == "LIFE" && may_retry => {
                    may_retry = false;
                    life = self.catch_up_life(followed).await?;
                }
                Err(error) => return Err(self.refusal(followed, life, error).await),
            }
        }
    }

    async fn catch_up_life(&self, followed: &FollowedShow) -> Result<u64, InventoryRefusal> {
        self.catch_up(followed).await?;
        followed.life().ok_or(InventoryRefusal::NotReady)
    }

    /// Closes the show if the error means that the show's data cannot be relied on. Returns the
    /// refusal for the error. After a `CLOCK` error, first asks Redis once more.
    pub(super) async fn refusal(
        &self,
        followed: &FollowedShow,
        life: u64,
        error: RedisCallError,
    ) -> InventoryRefusal {
        let closed = match error.refusal_code() {
            Some("MISSING") => ShowCloseReason::Missing,
            Some("LIFE") => ShowCloseReason::Building,
            Some("SERVER") => ShowCloseReason::Server,
            Some("CLOCK") => {
                // A process that was paused for a while sends an old time. A clock therefore counts
                // as wrong only after two such errors in a row.
                let nothing = ReadShowFeedScript {
                    counter: i64::MAX.unsigned_abs(),
                    sub: 0,
                    entries_max: 1,
                };
                match self.call_in_current_life(followed, nothing).await {
                    Err(error) if error.refusal_code() == Some("CLOCK") => ShowCloseReason::Clock,
                    _ => return InventoryRefusal::NotReady,
                }
            }
            // The warnings in the log already say that Redis is away.
            _ if matches!(error, RedisCallError::Unreachable(_)) => {
                tracing::debug!(show = %followed.show, life, %error, "a call to Redis failed");
                return InventoryRefusal::Unreachable;
            }
            _ => {
                tracing::warn!(show = %followed.show, life, %error, "a call to Redis failed");
                return InventoryRefusal::Unreachable;
            }
        };
        self.close_show(followed, &mut followed.state(), closed);
        InventoryRefusal::NotReady
    }

    /// Notes that a show must be opened again. Calls that only read still get its last picture.
    pub(super) fn close_show(
        &self,
        followed: &FollowedShow,
        state: &mut FollowedShowState,
        closed: ShowCloseReason,
    ) {
        if state.closed != Some(closed) {
            let reason = closed.as_str();
            if state.known.is_some() && closed == ShowCloseReason::Building {
                // That is so after a planned change, such as other stops of a train.
                tracing::info!(show = %followed.show, "a show's seats are being read from the ledger again");
            } else if state.known.is_some() {
                tracing::warn!(show = %followed.show, reason, "a show's seats in Redis cannot be relied on any more");
                metrics::counter!("fairgate_shows_closed_total", "reason" => reason).increment(1);
            }
            state.closed = Some(closed);
        }
    }

    pub(super) fn log_unreadable(
        &self,
        followed: &FollowedShow,
        error: &RedisCallError,
    ) -> InventoryRefusal {
        tracing::error!(show = %followed.show, %error, "an answer of Redis cannot be read");
        InventoryRefusal::Unreachable
    }

    pub(super) fn reply_is(
        &self,
        reply: &RedisReply,
        expected: &str,
    ) -> Result<bool, InventoryRefusal> {
        let code = reply.field("code").and_then(RedisReply::as_text);
        code.map(|code| code == expected)
            .map_err(|_| InventoryRefusal::Unreachable)
    }
}

/// Returns an error if a script's answer is a refusal.
pub(super) fn check_reply(reply: &RedisReply, limit: u32) -> Result<(), InventoryRefusal> {
    match refusal_in(reply, limit) {
        Ok(None) => Ok(()),
        Ok(Some(refusal)) => Err(refusal),
        Err(error) => {
            tracing::error!(%error, "an answer of Redis cannot be read");
            Err(InventoryRefusal::Unreachable)
        }
    }
}

fn refusal_in(reply: &RedisReply, limit: u32) -> Result<Option<InventoryRefusal>, RedisCallError> {
    let cells = || reply.field("cells")?.as_bytes().map(packing::read_numbers);
    Ok(Some(match reply.field("code")?.as_text()? {
        "OK" => return Ok(None),
        "TAKEN" => InventoryRefusal::Taken(cells()?),
        "LIMIT" => {
            let had = reply.field("had")?.as_count()?;
            let have = u32::try_from(had).unwrap_or(u32::MAX);
            InventoryRefusal::Limit { have, limit }
        }
        "GONE" => InventoryRefusal::Gone,
        "FOREIGN" => InventoryRefusal::Foreign,
        "ORDERED" => InventoryRefusal::Ordered,
        "PURPOSE" => {
            let purpose = reply.field("purpose")?.as_bytes()?;
            InventoryRefusal::OtherPurpose(HoldPurpose::from_stored(purpose))
        }
        "NOTHELD" => InventoryRefusal::NotHeld(cells()?),
        "NOEXTENSIONS" => InventoryRefusal::NoExtensions,
        "PLAN" => InventoryRefusal::PlanChanged,
        "DECIDED" => InventoryRefusal::NotReady,
        other => {
            let unknown = format!("Redis answered \"{other}\", which is no known answer");
            return Err(RedisCallError::Wrong(unknown));
        }
    }))
}

/// Returns the number of the newest row that was carried out, from an answer of `deliver_rows`.
pub(super) fn cursor_in(reply: &RedisReply) -> Result<u64, InventoryRefusal> {
    check_reply(reply, 0)?;
    let cursor = reply.field("cursor").and_then(RedisReply::as_count);
    cursor.map_err(|_| InventoryRefusal::Unreachable)
}
