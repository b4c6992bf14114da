//! How a Redis is to be, before there is one.

use super::{RedisServers, RedisTopology};

/// What may differ from a plain Redis.
#[derive(Debug, Clone)]
pub struct RedisOptions {
    pub(super) user: Option<RedisAclUser>,
    pub(super) policy: String,
    pub(super) clock: bool,
    pub(super) persist: bool,
}

/// An ACL user that the URL names; the default user stays as it is, for whoever arranges things.
#[derive(Debug, Clone)]
pub(super) struct RedisAclUser {
    pub(super) name: String,
    pub(super) password: String,
    pub(super) rules: String,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            user: None,
            policy: "noeviction".to_owned(),
            clock: false,
            persist: false,
        }
    }
}

impl RedisOptions {
    /// An ACL user with rules such as `~* &* +@all`; the URL then names it.
    #[must_use]
    pub fn user(mut self, name: &str, password: &str, rules: &str) -> Self {
        self.user = Some(RedisAclUser {
            name: name.to_owned(),
            password: password.to_owned(),
            rules: rules.to_owned(),
        });
        self
    }

    /// `maxmemory-policy`; `noeviction` unless said.
    #[must_use]
    pub fn maxmemory_policy(mut self, policy: &str) -> Self {
        policy.clone_into(&mut self.policy);
        self
    }

    /// A clock that [`RedisServers::set_clock_ahead`] moves.
    #[must_use]
    pub fn movable_clock(mut self) -> Self {
        self.clock = true;
        self
    }

    /// Keeps data over a restart, by an append-only file.
    #[must_use]
    pub fn persistent(mut self) -> Self {
        self.persist = true;
        self
    }

    /// One server.
    ///
    /// # Errors
    /// Where it does not start; its log is in the error.
    pub async fn single(self) -> anyhow::Result<RedisServers> {
        RedisServers::start_form(RedisTopology::Single, self).await
    }

    /// A primary and its replica behind one address that always leads to the primary.
    ///
    /// # Errors
    /// As [`Self::single`].
    pub async fn replica_pair(self) -> anyhow::Result<RedisServers> {
        RedisServers::start_form(RedisTopology::Pair, self).await
    }

    /// A primary, its replica and three sentinels.
    ///
    /// # Errors
    /// As [`Self::single`].
    pub async fn sentinel(self) -> anyhow::Result<RedisServers> {
        RedisServers::start_form(RedisTopology::Sentinel, self).await
    }

    /// A cluster of three primaries.
    ///
    /// # Errors
    /// As [`Self::single`].
    pub async fn cluster(self) -> anyhow::Result<RedisServers> {
        RedisServers::start_form(RedisTopology::Cluster, self).await
    }
}
