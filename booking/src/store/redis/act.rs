//! A call of a show's script, and what it means where it was refused: who asked is told, and a show
//! that cannot be relied on is closed until it is opened from the ledger again.

use std::sync::atomic::Ordering;

use fairgate_redis::{Error, RedisReply, ScriptCall, ScriptInvocation};

use super::followed::{FollowedShow, FollowedState, ShowClosed};
use super::scripts::{FollowScript, ShowCaller};
use super::{InventoryShared, keys, known, packing};
use crate::store::Refused;
use fairgate_model::holds::Purpose;
use fairgate_model::ids::ShowId;

impl InventoryShared {
    /// Calls a show's script in a life.
    pub(super) async fn call(
        &self,
        followed: &FollowedShow,
        life: u64,
        script: impl ScriptCall<Family = ShowCaller>,
    ) -> Result<RedisReply, Error> {
        let now_ms = self.options.clock.now_ms();
        self.call_at(followed, Some(life), now_ms, &script.prepare())
            .await
    }

    /// Calls a show's script in whatever life it is.
    pub(super) async fn call_any(
        &self,
        followed: &FollowedShow,
        script: impl ScriptCall<Family = ShowCaller>,
    ) -> Result<RedisReply, Error> {
        let now_ms = self.options.clock.now_ms();
        self.call_at(followed, None, now_ms, &script.prepare())
            .await
    }

    async fn call_at(
        &self,
        followed: &FollowedShow,
        life: Option<u64>,
        now_ms: i64,
        script: &ScriptInvocation<ShowCaller>,
    ) -> Result<RedisReply, Error> {
        if self.foreign.load(Ordering::Relaxed) {
            return Err(Error::Unreachable("it belongs to another ledger".into()));
        }
        let caller = ShowCaller {
            life,
            caller_ms: now_ms,
            clock_off_ms_max: self.options.clock_off_ms_max,
        };
        let meta = keys::meta(&followed.show);
        self.redis.run(&meta, caller, script).await
    }

    /// One transition: in the life that is known, and once more where another process has begun the
    /// next. Gives the life it was made in, and the answer.
    pub(super) async fn act(
        &self,
        show: &ShowId,
        script: impl ScriptCall<Family = ShowCaller>,
    ) -> Result<(u64, RedisReply), Refused> {
        let now_ms = self.options.clock.now_ms();
        let followed = self.followed(show);
        self.act_at(&followed, now_ms, script).await
    }

    pub(super) async fn act_at(
        &self,
        followed: &FollowedShow,
        now_ms: i64,
        script: impl ScriptCall<Family = ShowCaller>,
    ) -> Result<(u64, RedisReply), Refused> {
        let script = script.prepare();
        let mut life = match followed.life() {
            Some(life) => life,
            None => self.life_anew(followed).await?,
        };
        let mut again = true;
        loop {
            match self.call_at(followed, Some(life), now_ms, &script).await {
                Ok(reply) => {
                    let at = reply.at(1).and_then(known::position);
                    let at = at.map_err(|error| self.unread(followed, &error))?;
                    followed.saw(life, at);
                    return Ok((life, reply));
                }
                Err(Error::Refused(code, _)) if code == "LIFE" && again => {
                    again = false;
                    life = self.life_anew(followed).await?;
                }
                Err(error) => return Err(self.refusal(followed, life, error).await),
            }
        }
    }

    async fn life_anew(&self, followed: &FollowedShow) -> Result<u64, Refused> {
        self.catch_up(followed).await?;
        followed.life().ok_or(Refused::NotReady)
    }

    /// What an error means for who asked, and for the show.
    pub(super) async fn refusal(
        &self,
        followed: &FollowedShow,
        life: u64,
        error: Error,
    ) -> Refused {
        let closed = match error.code() {
            Some("MISSING") => ShowClosed::Missing,
            Some("LIFE") => ShowClosed::Building,
            Some("SERVER") => ShowClosed::Server,
            Some("CLOCK") => {
                // A process that was stopped for a while asks with an old time; only two
                // measurements in a row are a clock that is off.
                let nothing = FollowScript {
                    counter: i64::MAX.unsigned_abs(),
                    sub: 0,
                    entries_max: 1,
                };
                match self.call_any(followed, nothing).await {
                    Err(error) if error.code() == Some("CLOCK") => ShowClosed::Clock,
                    _ => return Refused::NotReady,
                }
            }
            _ => {
                tracing::warn!(show = %followed.show, life, %error, "Redis did not do what it was asked");
                return Refused::Unreachable;
            }
        };
        self.close(followed, &mut followed.state(), closed);
        Refused::NotReady
    }

    /// Notes that a show must be opened again. Its last picture stays for who only looks.
    pub(super) fn close(
        &self,
        followed: &FollowedShow,
        state: &mut FollowedState,
        closed: ShowClosed,
    ) {
        if state.closed != Some(closed) {
            let reason = closed.word();
            if state.known.is_some() {
                tracing::warn!(show = %followed.show, reason, "a show's seats in Redis cannot be relied on any more");
                metrics::counter!("fairgate_shows_closed_total", "reason" => reason).increment(1);
            }
            state.closed = Some(closed);
        }
    }

    pub(super) fn unread(&self, followed: &FollowedShow, error: &Error) -> Refused {
        tracing::error!(show = %followed.show, %error, "an answer of Redis cannot be read");
        Refused::Unreachable
    }

    pub(super) fn is(&self, reply: &RedisReply, word: &str) -> Result<bool, Refused> {
        let said = reply.at(0).and_then(RedisReply::bytes);
        said.map(|said| said == word.as_bytes())
            .map_err(|_| Refused::Unreachable)
    }
}

/// What a script answered, where it is no hold.
pub(super) fn refused(reply: &RedisReply, limit: u32) -> Result<(), Refused> {
    let cells = || {
        let cells = reply.at(2).and_then(RedisReply::bytes);
        cells.map(packing::read_numbers).unwrap_or_default()
    };
    let word = reply.at(0).and_then(RedisReply::text).unwrap_or_default();
    Err(match word {
        "OK" => return Ok(()),
        "TAKEN" => Refused::Taken(cells()),
        "LIMIT" => {
            let have = reply.at(2).and_then(RedisReply::count).unwrap_or_default();
            let have = u32::try_from(have).unwrap_or(u32::MAX);
            Refused::Limit { have, limit }
        }
        "GONE" => Refused::Gone,
        "FOREIGN" => Refused::Foreign,
        "ORDERED" => Refused::Ordered,
        "PURPOSE" => {
            let word = reply.at(2).and_then(RedisReply::bytes).unwrap_or_default();
            Refused::OtherPurpose(Purpose::of_word(word))
        }
        "NOTHELD" => Refused::NotHeld(cells()),
        "NOEXTENSIONS" => Refused::NoExtensions,
        "PLAN" => Refused::PlanChanged,
        "DECIDED" => Refused::NotReady,
        _ => Refused::Unreachable,
    })
}

/// How far the outbox was carried out, as `deliver` answers.
pub(super) fn cursor_in(reply: &RedisReply) -> Result<u64, Refused> {
    refused(reply, 0)?;
    let cursor = reply.at(2).and_then(RedisReply::count);
    cursor.map_err(|_| Refused::Unreachable)
}
