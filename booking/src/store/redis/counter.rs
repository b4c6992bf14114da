//! How far the ledger got, as Redis remembers it. A ledger that has a smaller counter is an older
//! copy of itself.

use fairgate_databases::{CountedOutside, LedgerCounter};
use fairgate_redis::{Redis, RedisCallError, RedisCommand, RedisReply};

use super::keys;

/// The member of the sorted set that has the counter as its score. Redis raises a score and never
/// lowers it, if it is told so, in one step.
const COUNTER: &str = "ledger";

/// The member that has the number of orders of which no payment provider knows.
const ORDERS: &str = "orders_without_provider";

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

    /// Returns how far the ledger got. Returns `None` if Redis does not know it, because it is new
    /// or was emptied.
    ///
    /// # Errors
    /// Fails if Redis does not answer, or answers something else than numbers.
    pub async fn read(&self) -> Result<Option<CountedOutside>, RedisCallError> {
        let all = RedisCommand::new("ZRANGE").arg(keys::COUNTER);
        let all = all.arg("0").arg("-1").arg("WITHSCORES");
        let (mut counter, mut orders_without_provider) = (None, None);
        for (member, score) in self.redis.ask(&all).await?.pairs()? {
            match member.as_text()? {
                COUNTER => counter = Some(number(score)?),
                ORDERS => orders_without_provider = Some(number(score)?),
                _ => {}
            }
        }
        Ok(counter.map(|counter| CountedOutside {
            counter,
            orders_without_provider,
        }))
    }

    /// Raises the numbers. A larger one stays.
    ///
    /// # Errors
    /// Fails if Redis does not answer.
    pub async fn raise(&self, counted: LedgerCounter) -> Result<(), RedisCallError> {
        let add = RedisCommand::new("ZADD").arg(keys::COUNTER).arg("GT");
        let add = add.arg(counted.counter.to_string()).arg(COUNTER);
        let orders = counted.orders_without_provider.to_string();
        self.redis.ask(&add.arg(orders).arg(ORDERS)).await.map(drop)
    }
}

/// Reads a score. Redis writes large ones with an exponent.
fn number(score: &RedisReply) -> Result<u64, RedisCallError> {
    let text = score.as_text()?;
    let number = text.parse::<f64>().ok().filter(|score| *score >= 0.0);
    let wrong = || RedisCallError::Wrong(format!("{} has {text}", keys::COUNTER));
    number.map(|score| score as u64).ok_or_else(wrong)
}
