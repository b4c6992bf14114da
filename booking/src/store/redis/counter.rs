//! How far the ledger got, as Redis remembers it. A ledger that has a smaller counter is an older
//! copy of itself.

use fairgate_redis::{Redis, RedisCallError, RedisCommand};

use super::keys;

/// The member of the sorted set that has the counter as its score. Redis raises a score and never
/// lowers it, if it is told so, in one step.
const MEMBER: &str = "ledger";

/// A handle on the counter in Redis, which is cheap to clone.
#[derive(Clone)]
pub struct RedisLedgerCounter {
    redis: Redis,
}

impl RedisLedgerCounter {
    /// Returns a handle on the counter of the ledger that this Redis belongs to.
    #[must_use]
    pub fn new(redis: Redis) -> Self {
        Self { redis }
    }

    /// Returns the counter. Returns `None` if Redis has none, because it is new or was emptied.
    ///
    /// # Errors
    /// Fails if Redis does not answer, or answers something else than a counter.
    pub async fn read(&self) -> Result<Option<u64>, RedisCallError> {
        let score = RedisCommand::new("ZSCORE").arg(keys::COUNTER).arg(MEMBER);
        let score = self.redis.ask(&score).await?;
        let Some(score) = score.present() else {
            return Ok(None);
        };
        let text = score.as_text()?;
        // Redis writes large scores with an exponent.
        let counter = text.parse::<f64>().ok().filter(|score| *score >= 0.0);
        let wrong = || RedisCallError::Wrong(format!("{} is {text}", keys::COUNTER));
        counter.map(|score| Some(score as u64)).ok_or_else(wrong)
    }

    /// Raises the counter. A larger counter stays.
    ///
    /// # Errors
    /// Fails if Redis does not answer.
    pub async fn raise(&self, counter: u64) -> Result<(), RedisCallError> {
        let add = RedisCommand::new("ZADD").arg(keys::COUNTER).arg("GT");
        let add = add.arg(counter.to_string()).arg(MEMBER);
        self.redis.ask(&add).await.map(drop)
    }
}
