//! Runs the scripts of rooms. Each runs on its room's key, and only if Redis belongs to this
//! ledger.

use std::sync::Arc;

use fairgate_redis::{Redis, RedisReply, ScriptCall, ScriptFamily};

use super::condition::StoreCondition;
use super::keys;
use super::scripts::LiveRoomFamily;
use crate::ledger::RoomLife;
use crate::store::StoreFailure;

/// Runs the scripts of rooms.
pub struct RoomScriptRunner {
    redis: Redis,
    condition: Arc<StoreCondition>,
}

impl RoomScriptRunner {
    pub fn new(redis: Redis, condition: Arc<StoreCondition>) -> Self {
        Self { redis, condition }
    }

    /// Runs a script that fails unless the room in Redis is in this life.
    pub async fn run(
        &self,
        room: &str,
        life: &RoomLife,
        script: impl ScriptCall<Family = LiveRoomFamily>,
    ) -> Result<RedisReply, StoreFailure> {
        let living = LiveRoomFamily {
            incarnation: life.incarnation,
        };
        self.run_as(room, living, script).await
    }

    /// Runs a script, unless Redis belongs to another ledger.
    pub async fn run_as<F: ScriptFamily>(
        &self,
        room: &str,
        family: F,
        script: impl ScriptCall<Family = F>,
    ) -> Result<RedisReply, StoreFailure> {
        if self.condition.is_foreign() {
            let other = "Redis belongs to another ledger";
            return Err(StoreFailure::NotReady(other.into()));
        }
        let (key, invocation) = (keys::life(room), script.prepare());
        Ok(self.redis.run_script(&key, family, &invocation).await?)
    }
}
