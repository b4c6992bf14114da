//! Watches in the background whether Redis answers, which ledger its data belongs to, and whether
//! its settings are safe. Operators get the result as warnings.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_base::clock::{Clock, rfc3339};
use fairgate_redis::{Redis, RedisCallError, RedisCommand, ServerFinding};

use super::keys;
use crate::ledger::RoomLife;

/// How often Redis is asked which ledger it belongs to.
pub const ASKED_EVERY: Duration = Duration::from_secs(1);
/// The settings and the clock of Redis are checked once in this many rounds.
const FINDINGS_EVERY: u32 = 10;
/// How long (ms) a warning stays after the ledger lost blocks or Redis lost its data.
const WARNING_STAYS_MS: i64 = 3_600_000;
/// The log has one warning for all rooms that begin a new life within this time (ms).
const ONE_LOSS_MS: i64 = 60_000;

/// What the last checks found out about Redis.
#[derive(Debug, Default)]
pub struct StoreCondition {
    inner: Mutex<ConditionDetails>,
}

#[derive(Debug, Default)]
struct ConditionDetails {
    outage: Option<(Instant, RedisCallError)>,
    /// The id of the ledger that the data belongs to, if it is not this store's ledger.
    foreign: Option<String>,
    findings: Vec<ServerFinding>,
    /// The rooms whose blocks the ledger lost, each with the time (ms) when the loss was found.
    lost_blocks: BTreeMap<String, i64>,
    /// When a loss was last logged (ms).
    loss_logged_at: Option<i64>,
}

impl StoreCondition {
    /// Returns whether the data belongs to another ledger. If so, none of it is used.
    pub fn is_foreign(&self) -> bool {
        self.inner.lock().foreign.is_some()
    }

    /// Notes which ledger the data in Redis belongs to, or that Redis did not answer.
    pub fn note_owner(&self, owner: Result<String, RedisCallError>, own_id: &str) {
        let mut details = self.inner.lock();
        match owner {
            Ok(owner) => {
                details.outage = None;
                let foreign = Some(owner).filter(|owner| owner != own_id);
                if foreign.is_some() && details.foreign.is_none() {
                    tracing::error!(
                        "this Redis belongs to another ledger now; it is no longer used"
                    );
                }
                details.foreign = foreign;
            }
            Err(error) => {
                let since = details
                    .outage
                    .as_ref()
                    .map_or_else(Instant::now, |outage| outage.0);
                details.outage = Some((since, error));
            }
        }
        metrics::gauge!("fairgate_room_store_up")
            .set(f64::from(u8::from(details.outage.is_none())));
    }

    /// Stores the findings of the last check of the servers.
    pub fn note_findings(&self, findings: Vec<ServerFinding>) {
        self.inner.lock().findings = findings;
    }

    /// Logs that this node copies a room from the ledger into Redis, because the room is new or
    /// Redis lost its data.
    pub fn note_new_life(&self, room: &str, life: &RoomLife, now: i64) {
        let incarnation = life.incarnation;
        if incarnation <= 1 {
            tracing::info!(room, "the room is new in the room store");
            return;
        }
        let mut details = self.inner.lock();
        let was_logged = details
            .loss_logged_at
            .is_some_and(|at| now - at < ONE_LOSS_MS);
        if was_logged {
            tracing::debug!(
                room,
                incarnation,
                "the room is read from the ledger again, too"
            );
            return;
        }
        details.loss_logged_at = Some(now);
        tracing::warn!(
            room,
            incarnation,
            "the room store lost its data or was replaced; its rooms are read from the ledger again"
        );
    }

    /// Notes and logs that the ledger has lost blocks of these rooms.
    pub fn note_lost_blocks(&self, rooms: &[String], now: i64) {
        for room in rooms {
            tracing::error!(
                room,
                "the ledger was replaced by an older copy and has lost numbers that it had reserved; none of these numbers is given again"
            );
            metrics::counter!("fairgate_ledger_set_back_total", "room" => room.clone())
                .increment(1);
            self.inner.lock().lost_blocks.insert(room.clone(), now);
        }
    }

    /// Returns one text for each problem that an operator should solve. `lives` are the lives that
    /// the ledger has.
    pub fn warnings(&self, lives: &[RoomLife], now: i64) -> Vec<String> {
        let details = self.inner.lock();
        let mut warnings = Vec::new();
        if let Some((since, error)) = &details.outage {
            warnings.push(format!(
                "the room store has not answered for {} s ({error}). Until it answers, nobody can join and nobody is called. Visitors still see the lobby, their places and the results of draws",
                since.elapsed().as_secs()
            ));
        }
        if let Some(owner) = &details.foreign {
            warnings.push(format!(
                "the room store belongs to another ledger ({owner}): nobody can join. Set FAIRGATE_DATABASE_URL to the database of that ledger, or FAIRGATE_REDIS_URL to another Redis"
            ));
        }
        warnings.extend(details.findings.iter().map(ToString::to_string));
        let recent = details
            .lost_blocks
            .iter()
            .filter(|(_, at)| now - **at < WARNING_STAYS_MS);
        warnings.extend(recent.map(|(room, at)| {
            let at = rfc3339(*at);
            format!("the ledger was set back: at {at} it had lost reserved numbers of the room \"{room}\". None of these numbers is given again")
        }));
        warnings.extend(recent_loss_warning(lives, now));
        warnings
    }
}

/// Returns one text for all rooms that were lost recently. A room in its first life was never lost.
fn recent_loss_warning(lives: &[RoomLife], now: i64) -> Option<String> {
    let lost_rooms = lives
        .iter()
        .filter(|life| life.incarnation > 1 && now - life.begun_at < WARNING_STAYS_MS);
    let at = lost_rooms.clone().map(|life| life.begun_at).max()?;
    let (at, rooms) = (rfc3339(at), lost_rooms.count());
    let rooms = match rooms {
        1 => "one room was".to_owned(),
        _ => format!("{rooms} rooms were"),
    };
    Some(format!(
        "the room store lost its data, last at {at}: {rooms} read from the ledger again. Places, ranks and passes stay valid; visitors get their places back. See why Redis lost its data"
    ))
}

/// Asks Redis every second which ledger its data belongs to, and checks its settings less often.
pub struct ConditionWatch {
    redis: Redis,
    ledger_id: String,
    clock: Clock,
    condition: Arc<StoreCondition>,
}

impl ConditionWatch {
    /// Makes a watch for the ledger with this id, in hex.
    pub fn new(
        redis: Redis,
        ledger_id: String,
        clock: Clock,
        condition: Arc<StoreCondition>,
    ) -> Self {
        Self {
            redis,
            ledger_id,
            clock,
            condition,
        }
    }

    /// Runs one round of the watch.
    pub async fn check_condition(&self, round: u32) {
        self.condition
            .note_owner(self.claim_or_read_owner().await, &self.ledger_id);
        if round.is_multiple_of(FINDINGS_EVERY)
            && let Ok(findings) = self.redis.check_servers(self.clock.now_ms()).await
        {
            self.condition.note_findings(findings);
        }
    }

    /// Returns the id of the ledger that the data in Redis belongs to. If Redis has no such id yet,
    /// first writes the id of this ledger there.
    pub async fn claim_or_read_owner(&self) -> Result<String, RedisCallError> {
        let set = RedisCommand::new("SET").arg(keys::LEDGER);
        let set = set.arg(self.ledger_id.as_str()).arg("NX");
        self.redis.ask(&set).await?;
        let get = RedisCommand::new("GET").arg(keys::LEDGER);
        Ok(self.redis.ask(&get).await?.as_text()?.to_owned())
    }
}
