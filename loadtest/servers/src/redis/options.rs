//! Collects the settings of Redis servers before their start.

use super::{RedisServers, RedisTopology};

/// The settings of Redis servers.
#[derive(Debug, Clone)]
pub struct RedisOptions {
    pub(super) user: Option<RedisAclUser>,
    pub(super) policy: String,
    pub(super) clock: bool,
    pub(super) persist: bool,
}

/// An ACL user that the URL names. Tests can still use the default user.
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
    /// Adds an ACL user with rules such as `~* &* +@all`. The URL then contains the user's name and
    /// password.
    #[must_use]
    pub fn user(mut self, name: &str, password: &str, rules: &str) -> Self {
        self.user = Some(RedisAclUser {
            name: name.to_owned(),
            password: password.to_owned(),
            rules: rules.to_owned(),
        });
        self
    }

    /// Sets `maxmemory-policy`, which is otherwise `noeviction`.
    #[must_use]
    pub fn maxmemory_policy(mut self, policy: &str) -> Self {
        policy.clone_into(&mut self.policy);
        self
    }

    /// Gives the data nodes a clock that [`RedisServers::set_clock_ahead`] moves.
    #[must_use]
    pub fn movable_clock(mut self) -> Self {
        self.clock = true;
        self
    }

    /// Stores the data in an append-only file, so that it survives a restart.
    #[must_use]
    pub fn persistent(mut self) -> Self {
        self.persist = true;
        self
    }

    /// Starts one server.
    ///
    /// # Errors
    /// Where a server does not start. The error contains the end of its log.
    pub async fn single(self) -> anyhow::Result<RedisServers> {
        RedisServers::start_form(RedisTopology::Single, self).await
    }

    /// Starts a primary and its replica, with one address that always leads to the primary.
    ///
    /// # Errors
    /// As [`Self::single`].
    pub async fn replica_pair(self) -> anyhow::Result<RedisServers> {
        RedisServers::start_form(RedisTopology::Pair, self).await
    }

    /// Starts a primary, its replica and three sentinels.
    ///
    /// # Errors
    /// As [`Self::single`].
    pub async fn sentinel(self) -> anyhow::Result<RedisServers> {
        RedisServers::start_form(RedisTopology::Sentinel, self).await
    }

    /// Starts a cluster of three primaries.
    ///
    /// # Errors
    /// As [`Self::single`].
    pub async fn cluster(self) -> anyhow::Result<RedisServers> {
        RedisServers::start_form(RedisTopology::Cluster, self).await
    }
}
