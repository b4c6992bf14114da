//! Runs Redis in every form that the product supports, and breaks it as tests ask.

mod form;
mod forward;
mod node;
mod options;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::ensure;
use tempfile::TempDir;

use crate::MovableClock;
use crate::port::start_on_free_port;
use crate::resp::RespReply;
use forward::RedisForwarder;
use node::RedisNode;

pub use options::RedisOptions;

/// The form of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RedisTopology {
    Single,
    Pair,
    Sentinel,
    Cluster,
}

/// Running servers. Data nodes have the indices from 0 on, and sentinels the indices after them.
/// Dropping this ends them all and removes their data.
#[derive(Debug)]
pub struct RedisServers {
    nodes: Vec<RedisNode>,
    form: RedisTopology,
    options: RedisOptions,
    forward: Option<RedisForwarder>,
    /// The index of the data node that leads a pair.
    primary: AtomicUsize,
    folder: TempDir,
}

impl RedisServers {
    /// Starts one plain server. See [`RedisOptions`] for others.
    ///
    /// # Errors
    /// Where it does not start; its log is in the error.
    pub async fn single() -> anyhow::Result<Self> {
        Self::options().single().await
    }

    /// Starts a primary and its replica behind one address.
    ///
    /// # Errors
    /// As [`Self::single`].
    pub async fn replica_pair() -> anyhow::Result<Self> {
        Self::options().replica_pair().await
    }

    /// Starts a primary, its replica and three sentinels. The sentinels take a second to notice
    /// that a node is down, and a moment more to promote.
    ///
    /// # Errors
    /// As [`Self::single`].
    pub async fn sentinel() -> anyhow::Result<Self> {
        Self::options().sentinel().await
    }

    /// Starts a cluster of three primaries that share the slots.
    ///
    /// # Errors
    /// As [`Self::single`].
    pub async fn cluster() -> anyhow::Result<Self> {
        Self::options().cluster().await
    }

    /// Returns the settings for servers before their start.
    #[must_use]
    pub fn options() -> RedisOptions {
        RedisOptions::default()
    }

    async fn start_form(form: RedisTopology, options: RedisOptions) -> anyhow::Result<Self> {
        start_on_free_port(async || form::start(form, &options).await).await
    }

    /// Returns the URL for the product: `redis://…`, `redis+sentinel://…/fairgate` or
    /// `redis+cluster://…`.
    #[must_use]
    pub fn url(&self) -> String {
        let who = match &self.options.user {
            Some(user) => format!("{}:{}@", user.name, user.password),
            None => String::new(),
        };
        let hosts = |nodes: &[RedisNode]| {
            let hosts = nodes
                .iter()
                .map(|node| format!("127.0.0.1:{}", node.port()));
            hosts.collect::<Vec<String>>().join(",")
        };
        match self.form {
            RedisTopology::Single => format!("redis://{who}{}", hosts(&self.nodes)),
            RedisTopology::Pair => {
                let port = self.forward.as_ref().map_or(0, RedisForwarder::port);
                format!("redis://{who}127.0.0.1:{port}")
            }
            RedisTopology::Sentinel => format!(
                "redis+sentinel://{who}{}/fairgate",
                hosts(&self.nodes[form::DATA_NODES_OF_TWO..])
            ),
            RedisTopology::Cluster => format!("redis+cluster://{who}{}", hosts(&self.nodes)),
        }
    }

    /// Returns how many processes there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns how many of the processes keep data. Their indices come first.
    #[must_use]
    pub fn data_count(&self) -> usize {
        match self.form {
            RedisTopology::Sentinel => form::DATA_NODES_OF_TWO,
            _ => self.nodes.len(),
        }
    }

    /// Returns a process' name, such as `redis-0` or `sentinel-2`.
    #[must_use]
    pub fn name(&self, index: usize) -> &str {
        self.nodes[index].name()
    }

    /// Returns a process' port.
    #[must_use]
    pub fn port(&self, index: usize) -> u16 {
        self.nodes[index].port()
    }

    /// Sends one command to one process, as the default user.
    ///
    /// # Errors
    /// Where it does not answer, or with an error.
    pub async fn command(&self, index: usize, words: &[&str]) -> anyhow::Result<RespReply> {
        self.nodes[index].call(words).await
    }

    /// Kills a process. Its data is gone, except for what a persistent one wrote.
    pub fn kill(&self, index: usize) {
        self.nodes[index].process().kill();
    }

    /// Starts a process that was killed, on the same port.
    ///
    /// # Errors
    /// Where it does not answer; its log is in the error.
    pub async fn start(&self, index: usize) -> anyhow::Result<()> {
        self.nodes[index].start().await
    }

    /// Stops a process where it stands: connections stay, but no answers come.
    pub fn pause(&self, index: usize) {
        self.nodes[index].process().pause();
    }

    /// Lets a stopped process go on.
    pub fn resume(&self, index: usize) {
        self.nodes[index].process().resume();
    }

    /// Returns the data nodes that take writes now, as they say themselves.
    pub async fn primaries(&self) -> Vec<usize> {
        let mut primaries = Vec::new();
        for index in 0..self.data_count() {
            let node = &self.nodes[index];
            if node.process().pid().is_some() && node.info("replication", "role").await == "master"
            {
                primaries.push(index);
            }
        }
        primaries
    }

    /// Empties every primary.
    ///
    /// # Errors
    /// Where one does not answer.
    pub async fn flush_all(&self) -> anyhow::Result<()> {
        for index in self.primaries().await {
            self.command(index, &["FLUSHALL"]).await?;
        }
        Ok(())
    }

    /// Cuts a pair's replica off: it keeps its data, and hears of nothing new.
    ///
    /// # Errors
    /// Where it does not answer, or where this is no pair.
    pub async fn part_replica(&self) -> anyhow::Result<()> {
        let replica = self.replica()?;
        // Nobody listens on port 1, so the replica tries again and again and serves the data it
        // has.
        self.command(replica, &["REPLICAOF", "127.0.0.1", "1"])
            .await?;
        Ok(())
    }

    /// Makes a pair's replica the primary, whatever it missed. The address leads to it from now on.
    /// The former primary becomes its replica, if it answers.
    ///
    /// # Errors
    /// Where it does not answer, or where this is no pair.
    pub async fn promote_replica(&self) -> anyhow::Result<()> {
        let replica = self.replica()?;
        let old = self.primary.load(Ordering::SeqCst);
        self.command(replica, &["REPLICAOF", "NO", "ONE"]).await?;
        self.primary.store(replica, Ordering::SeqCst);
        let port = self.port(replica);
        if let Some(forward) = &self.forward {
            forward.lead_to(port);
        }
        if self.nodes[old].process().pid().is_some() {
            self.command(old, &["REPLICAOF", "127.0.0.1", &port.to_string()])
                .await?;
        }
        Ok(())
    }

    /// Returns whether the replica of a pair or of the sentinels has everything that its primary
    /// has. A test of a lost primary proves nothing before that.
    pub async fn replica_has_all(&self) -> bool {
        let primaries = self.primaries().await;
        let [primary] = primaries[..] else {
            return false;
        };
        let replica = 1 - primary.min(1);
        let at =
            async |index: usize, field: &str| self.nodes[index].info("replication", field).await;
        at(replica, "master_link_status").await == "up"
            && at(replica, "slave_repl_offset").await == at(primary, "master_repl_offset").await
    }

    /// Sets the clock of every data node so many seconds ahead of the true time, or behind it if
    /// negative.
    ///
    /// # Errors
    /// Where the clock was not asked for at the start.
    pub fn set_clock_ahead(&self, seconds: i64) -> anyhow::Result<()> {
        ensure!(
            self.options.clock,
            "this Redis was not started with a movable clock"
        );
        MovableClock::at(clock_file(self.folder.path())).set_ahead(seconds)
    }

    fn replica(&self) -> anyhow::Result<usize> {
        ensure!(self.form == RedisTopology::Pair, "this Redis is no pair");
        Ok(1 - self.primary.load(Ordering::SeqCst))
    }
}

/// Returns the file from which the data nodes' clocks are read.
fn clock_file(folder: &Path) -> PathBuf {
    folder.join("clock")
}
