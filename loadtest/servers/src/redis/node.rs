//! Runs one Redis process, which is a data node or a sentinel.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use super::options::RedisOptions;
use crate::process::{ServerProcess, ServerProgram, until_ready};
use crate::resp::{self, RespReply};
use crate::{MovableClock, needs, port};

/// The longest time until a started node answers.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// The role of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedisNodeRole {
    /// Stores data, alone or as the first primary beside a replica.
    Primary,
    /// Copies the data of the node on this port.
    ReplicaOf(u16),
    /// Stores a part of the data of a cluster.
    ClusterPart,
    /// Watches the node on this port.
    SentinelOf(u16),
}

/// One Redis process.
#[derive(Debug)]
pub struct RedisNode {
    name: String,
    port: u16,
    process: ServerProcess,
}

impl RedisNode {
    /// Makes a node with a folder of its own below `folder`. The node is not started yet. Its
    /// configuration is a file, because Redis writes a changed role into that file.
    pub fn new(
        name: String,
        role: RedisNodeRole,
        folder: &Path,
        options: &RedisOptions,
    ) -> anyhow::Result<Self> {
        let port = match role {
            RedisNodeRole::ClusterPart => port::free_port_with_bus()?,
            _ => port::free_port()?,
        };
        let node_folder = folder.join(&name);
        std::fs::create_dir(&node_folder)?;
        let file = node_folder.join("redis.conf");
        std::fs::write(&file, configuration(role, port, &node_folder, options))?;
        let mut args = vec![OsString::from(&file)];
        let is_sentinel = matches!(role, RedisNodeRole::SentinelOf(_));
        if is_sentinel {
            args.push("--sentinel".into());
        }
        let env = match options.clock && !is_sentinel {
            true => MovableClock::at(super::clock_file(folder)).environment()?,
            false => Vec::new(),
        };
        let process = ServerProcess::new(ServerProgram {
            binary: needs::on_path("redis-server").context("there is no redis-server")?,
            args,
            env,
            run_as: None,
            at_our_end: "KILL",
            log: node_folder.join("log"),
        });
        Ok(Self {
            name,
            port,
            process,
        })
    }

    /// Starts the node, and waits until it answers. Ignores an answer that does not name the id of
    /// the node's own process, because such an answer comes from another server on this port.
    pub async fn start(&self) -> anyhow::Result<()> {
        self.process.spawn()?;
        let ready = async || {
            let info = self.call(&["INFO", "server"]).await;
            let own_id = self.process.pid().map(|pid| format!("process_id:{pid}"));
            let is_own = |info: RespReply| {
                let mut lines = info.text().lines();
                lines.any(|line| Some(line) == own_id.as_deref())
            };
            // A server that is still loading its data answers INFO, but it does not serve data.
            info.is_ok_and(is_own) && self.info("persistence", "loading").await != "1"
        };
        until_ready(&self.name, &self.process, READY_WITHIN, ready).await
    }

    /// Sends one command, as the default user.
    pub async fn call(&self, words: &[&str]) -> anyhow::Result<RespReply> {
        resp::call(self.port, words).await
    }

    /// Returns one field of `INFO`. It is empty if the node does not answer or has no such field.
    pub async fn info(&self, section: &str, field: &str) -> String {
        let text = self.call(&["INFO", section]).await;
        let text = text.map(|text| text.text().to_owned()).unwrap_or_default();
        let value = |line: &str| {
            let (name, value) = line.split_once(':')?;
            (name == field).then(|| value.trim().to_owned())
        };
        text.lines().find_map(value).unwrap_or_default()
    }

    /// Returns the node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the node's port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the node's process.
    pub fn process(&self) -> &ServerProcess {
        &self.process
    }
}

fn configuration(role: RedisNodeRole, port: u16, folder: &Path, options: &RedisOptions) -> String {
    let folder = folder.display();
    let common =
        format!("port {port}\nbind 127.0.0.1\ndir {folder}\ndaemonize no\nprotected-mode no\n");
    if let RedisNodeRole::SentinelOf(primary) = role {
        return format!(
            "{common}sentinel monitor fairgate 127.0.0.1 {primary} 2\n\
             sentinel down-after-milliseconds fairgate 1000\n\
             sentinel failover-timeout fairgate 3000\n\
             sentinel parallel-syncs fairgate 1\n"
        );
    }
    let keep = if options.persist { "yes" } else { "no" };
    let mut text = format!(
        "{common}save \"\"\nappendonly {keep}\nmaxmemory-policy {}\n\
         repl-diskless-sync yes\nrepl-diskless-sync-delay 0\n",
        options.policy
    );
    if let Some(user) = &options.user {
        text.push_str(&format!(
            "user {} on >{} {}\n",
            user.name, user.password, user.rules
        ));
    }
    match role {
        RedisNodeRole::ReplicaOf(primary) => {
            text.push_str(&format!("replicaof 127.0.0.1 {primary}\n"))
        }
        RedisNodeRole::ClusterPart => {
            text.push_str("cluster-enabled yes\ncluster-node-timeout 2000\n");
            text.push_str(&format!("cluster-config-file {folder}/nodes.conf\n"));
        }
        RedisNodeRole::Primary | RedisNodeRole::SentinelOf(_) => {}
    }
    text
}
