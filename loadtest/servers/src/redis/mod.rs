//! Runs Redis in every form that the product supports, and breaks it on demand.

mod form;
mod forward;
mod node;
mod options;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, ensure};
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

/// The running servers. The indices of the data nodes begin at 0, and the sentinels come after
/// them. Dropping this value ends all servers and removes their data.
#[derive(Debug)]
pub struct RedisServers {
    nodes: Vec<RedisNode>,
    form: RedisTopology,
    options: RedisOptions,
    forward: Option<RedisForwarder>,
    /// The index of the primary of a pair.
    primary: AtomicUsize,
    folder: TempDir,
}

impl RedisServers {
    /// Starts one server with the default settings. See [`RedisOptions`] for other settings.
    ///
    /// # Errors
    /// Where the server does not start. The error contains the end of its log.
    pub async fn single() -> anyhow::Result<Self> {
        Self::options().single().await
    }

    /// Starts a primary and its replica, with one address that always leads to the primary.
    ///
    /// # Errors
    /// As [`Self::single`].
    pub async fn replica_pair() -> anyhow::Result<Self> {
        Self::options().replica_pair().await
    }

    /// Starts a primary, its replica and three sentinels. The sentinels notice after a second that
    /// a node is down, and promote the replica a moment later.
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
        let credentials = match &self.options.user {
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
            RedisTopology::Single => format!("redis://{credentials}{}", hosts(&self.nodes)),
            RedisTopology::Pair => {
                let port = self.forward.as_ref().map_or(0, RedisForwarder::port);
                format!("redis://{credentials}127.0.0.1:{port}")
            }
            RedisTopology::Sentinel => format!(
                "redis+sentinel://{credentials}{}/fairgate",
                hosts(&self.nodes[form::DATA_NODES_OF_TWO..])
            ),
            RedisTopology::Cluster => {
                format!("redis+cluster://{credentials}{}", hosts(&self.nodes))
            }
        }
    }

    /// Returns how many processes there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns how many of the processes store data. Their indices come first.
    #[must_use]
    pub fn data_count(&self) -> usize {
        match self.form {
            RedisTopology::Sentinel => form::DATA_NODES_OF_TWO,
            _ => self.nodes.len(),
        }
    }

    /// Returns a process's name, such as `redis-0` or `sentinel-2`.
    #[must_use]
    pub fn name(&self, index: usize) -> &str {
        self.nodes[index].name()
    }

    /// Returns a process's port.
    #[must_use]
    pub fn port(&self, index: usize) -> u16 {
        self.nodes[index].port()
    }

    /// Sends one command to one process, as the default user.
    ///
    /// # Errors
    /// Where the process does not answer, or answers with an error.
    pub async fn command(&self, index: usize, words: &[&str]) -> anyhow::Result<RespReply> {
        self.nodes[index].call(words).await
    }

    /// Returns how often one process has read from its connections so far. That is the number of
    /// round trips: commands that were sent together count once.
    ///
    /// # Errors
    /// Where the process does not answer.
    pub async fn reads(&self, index: usize) -> anyhow::Result<u64> {
        let reads = self.nodes[index].info("stats", "total_reads_processed");
        reads.await.parse().context("no count")
    }

    /// Returns the ids of a node's processes. The list is empty while the node does not run.
    ///
    /// # Panics
    /// Where there is no such node.
    #[must_use]
    pub fn pids(&self, index: usize) -> Vec<u32> {
        self.nodes[index].process().pids()
    }

    /// Kills a process. Its data is lost, unless the process is persistent.
    pub fn kill(&self, index: usize) {
        self.nodes[index].process().kill();
    }

    /// Starts a process that was killed, on the same port.
    ///
    /// # Errors
    /// Where the process does not answer. The error contains the end of its log.
    pub async fn start(&self, index: usize) -> anyhow::Result<()> {
        self.nodes[index].start().await
    }

    /// Pauses a process: its connections stay open, but it does not answer.
    pub fn pause(&self, index: usize) {
        self.nodes[index].process().pause();
    }

    /// Lets a paused process run again.
    pub fn resume(&self, index: usize) {
        self.nodes[index].process().resume();
    }

    /// Returns the indices of the running data nodes that report the role of a primary.
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
    /// Where a primary does not answer.
    pub async fn flush_all(&self) -> anyhow::Result<()> {
        for index in self.primaries().await {
            self.command(index, &["FLUSHALL"]).await?;
        }
        Ok(())
    }

    /// Separates the replica of a pair from its primary. The replica keeps its data, and gets no
    /// new data.
    ///
    /// # Errors
    /// Where the replica does not answer, or this is no pair.
    pub async fn part_replica(&self) -> anyhow::Result<()> {
        let replica = self.replica()?;
        // No server listens on port 1. So the replica tries to connect again and again, and serves
        // the data that it has.
        self.command(replica, &["REPLICAOF", "127.0.0.1", "1"])
            .await?;
        Ok(())
    }

    /// Makes the replica of a pair the primary, even if it missed writes. From now on, the pair's
    /// address leads to the new primary. The former primary becomes its replica, if it runs.
    ///
    /// # Errors
    /// Where a server does not answer, or this is no pair.
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

    /// Returns whether the replica of a pair or of the sentinel form has all data of its primary.
    /// If a test kills the primary before this is true, the test proves nothing.
    pub async fn replica_has_all(&self) -> bool {
        let primaries = self.primaries().await;
        let [primary] = primaries[..] else {
            return false;
        };
        let replica = 1 - primary.min(1);
        let info_of =
            async |index: usize, field: &str| self.nodes[index].info("replication", field).await;
        info_of(replica, "master_link_status").await == "up"
            && info_of(replica, "slave_repl_offset").await
                == info_of(primary, "master_repl_offset").await
    }

    /// Sets the clock of every data node `seconds` ahead of the true time. A negative number sets
    /// it back.
    ///
    /// # Errors
    /// Where the servers were started without a movable clock.
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

/// Returns the file with the offset of the clock of all data nodes.
fn clock_file(folder: &Path) -> PathBuf {
    folder.join("clock")
}
