//! Starts Redis in each form: starts the nodes, connects them, and waits until they work together.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::forward::RedisForwarder;
use super::node::{RedisNode, RedisNodeRole};
use super::{RedisOptions, RedisServers, RedisTopology, clock_file};
use crate::MovableClock;
use crate::port::BUS_ABOVE;

/// The number of data nodes in a pair: a primary and its replica.
pub const DATA_NODES_OF_TWO: usize = 2;
const SENTINELS: usize = 3;
const PARTS: usize = 3;
const SLOTS: usize = 16_384;
/// The longest time until the nodes work together.
const TOGETHER_WITHIN: Duration = Duration::from_secs(30);

/// Starts Redis in a form, and waits until all nodes work together.
pub async fn start(form: RedisTopology, options: &RedisOptions) -> anyhow::Result<RedisServers> {
    let folder = tempfile::Builder::new()
        .prefix("fairgate-redis-")
        .tempdir()
        .context("no temporary folder could be made")?;
    MovableClock::at(clock_file(folder.path())).set_ahead(0)?;
    let mut redis = RedisServers {
        nodes: Vec::new(),
        form,
        options: options.clone(),
        forward: None,
        primary: 0.into(),
        folder,
    };
    match form {
        RedisTopology::Single => {
            add(&mut redis, "redis", RedisNodeRole::Primary).await?;
        }
        RedisTopology::Pair => {
            let primary = add_two(&mut redis).await?;
            redis.forward = Some(RedisForwarder::for_port(primary).await?);
        }
        RedisTopology::Sentinel => {
            let primary = add_two(&mut redis).await?;
            for _ in 0..SENTINELS {
                add(&mut redis, "sentinel", RedisNodeRole::SentinelOf(primary)).await?;
            }
            until_whole("the sentinels", async || sentinels_agree(&redis).await).await?;
        }
        RedisTopology::Cluster => {
            for _ in 0..PARTS {
                add(&mut redis, "redis", RedisNodeRole::ClusterPart).await?;
            }
            share_slots(&redis).await?;
            until_whole("the cluster", async || cluster_is_whole(&redis).await).await?;
        }
    }
    Ok(redis)
}

async fn add(redis: &mut RedisServers, kind: &str, role: RedisNodeRole) -> anyhow::Result<u16> {
    let of_kind = redis
        .nodes
        .iter()
        .filter(|node| node.name().starts_with(kind));
    let name = format!("{kind}-{}", of_kind.count());
    let node = RedisNode::new(name, role, redis.folder.path(), &redis.options)?;
    node.start().await?;
    let port = node.port();
    redis.nodes.push(node);
    Ok(port)
}

async fn add_two(redis: &mut RedisServers) -> anyhow::Result<u16> {
    let primary = add(redis, "redis", RedisNodeRole::Primary).await?;
    add(redis, "redis", RedisNodeRole::ReplicaOf(primary)).await?;
    until_whole("the replica", async || redis.replica_has_all().await).await?;
    Ok(primary)
}

async fn sentinels_agree(redis: &RedisServers) -> bool {
    for sentinel in &redis.nodes[DATA_NODES_OF_TWO..] {
        let agreed = sentinel.call(&["SENTINEL", "CKQUORUM", "fairgate"]).await;
        let master = sentinel.info("sentinel", "master0").await;
        if agreed.is_err() || !master.contains("slaves=1,sentinels=3") {
            return false;
        }
    }
    true
}

/// Gives each node its share of the slots, and connects the first node with all others.
async fn share_slots(redis: &RedisServers) -> anyhow::Result<()> {
    let first_port = redis.nodes[0].port();
    for (index, node) in redis.nodes.iter().enumerate() {
        let (from, to) = (index * SLOTS / PARTS, (index + 1) * SLOTS / PARTS - 1);
        let (from, to) = (from.to_string(), to.to_string());
        let epoch = (index + 1).to_string();
        // Redis 7 accepts a range of slots. Older versions need a list of all slots.
        if node
            .call(&["CLUSTER", "ADDSLOTSRANGE", &from, &to])
            .await
            .is_err()
        {
            let slots: Vec<String> = (from.parse::<usize>()?..=to.parse()?)
                .map(|slot| slot.to_string())
                .collect();
            let words = ["CLUSTER", "ADDSLOTS"].into_iter();
            let words: Vec<&str> = words.chain(slots.iter().map(String::as_str)).collect();
            node.call(&words).await?;
        }
        node.call(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]).await?;
        if index > 0 {
            let bus = (first_port + BUS_ABOVE).to_string();
            node.call(&[
                "CLUSTER",
                "MEET",
                "127.0.0.1",
                &first_port.to_string(),
                &bus,
            ])
            .await?;
        }
    }
    Ok(())
}

async fn cluster_is_whole(redis: &RedisServers) -> bool {
    for node in &redis.nodes {
        let info = node.call(&["CLUSTER", "INFO"]).await;
        let info = info.map(|info| info.text().to_owned()).unwrap_or_default();
        if !info.contains("cluster_state:ok") || !info.contains("cluster_known_nodes:3") {
            return false;
        }
    }
    true
}

async fn until_whole<F: Future<Output = bool>>(
    what: &str,
    is_whole: impl Fn() -> F,
) -> anyhow::Result<()> {
    let started = Instant::now();
    while !is_whole().await {
        if started.elapsed() > TOGETHER_WITHIN {
            bail!(
                "{what} did not come together within {} s",
                TOGETHER_WITHIN.as_secs()
            );
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    Ok(())
}
