//! One multiplexed connection that many callers share. It is replaced after it broke. Each
//! connection has a number, its generation. A caller that finds its connection broken gives this
//! number. So a hundred callers of one broken connection open only one new connection.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo};
use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, RedisResult, Value,
};

use crate::address::RedisAddress;
use crate::{ConnectionOptions, RedisCallError};

/// After a failed attempt to connect, no caller tries again for this long.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
/// How long a cluster's connection may fail before it is replaced. Until then it repairs itself.
const CLUSTER_PATIENCE: Duration = Duration::from_secs(2);
/// How often the Sentinels are asked whether the connected server is still the primary. After a
/// failover, a former primary may come back. It then accepts writes for seconds, until the
/// Sentinels demote it.
const PRIMARY_CHECK_EVERY: Duration = Duration::from_secs(1);
/// The most calls that may wait for the socket. The package's default of 50 makes callers wait
/// under load.
const WAITING_CALLS_MAX: usize = 4_096;

/// A live connection to a server or a cluster.
#[derive(Clone)]
pub(crate) enum RedisConnection {
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl RedisConnection {
    pub(crate) async fn send(&mut self, command: &Cmd) -> RedisResult<Value> {
        match self {
            Self::Server(connection) => connection.req_packed_command(command).await,
            Self::Cluster(connection) => connection.req_packed_command(command).await,
        }
    }

    /// Sends a command to all primaries and returns their answers.
    pub(crate) async fn send_to_all(&mut self, command: Cmd) -> RedisResult<Vec<Value>> {
        match self {
            Self::Server(connection) => Ok(vec![connection.req_packed_command(&command).await?]),
            Self::Cluster(connection) => {
                let primaries = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                Ok(match connection.route_command(command, primaries).await? {
                    Value::Map(pairs) => pairs.into_iter().map(|(_, value)| value).collect(),
                    // With the older protocol, the value is a list of pairs: address and answer.
                    Value::Array(pairs) => pairs
                        .into_iter()
                        .filter_map(|pair| match pair {
                            Value::Array(mut pair) => pair.pop(),
                            _ => None,
                        })
                        .collect(),
                    other => vec![other],
                })
            }
        }
    }
}

#[derive(Default)]
struct ConnectionSlotState {
    generation: u64,
    connection: Option<RedisConnection>,
    /// The server that the Sentinels named for this connection, and when they were last asked.
    /// `None` if no Sentinels were asked.
    named: Option<(ConnectionAddr, Instant)>,
    failing_since: Option<Instant>,
}

/// Holds one connection and replaces it when it breaks.
#[derive(Default)]
pub(crate) struct ConnectionSlot {
    state: Mutex<ConnectionSlotState>,
    /// When the last attempt to connect failed. Locked while one caller connects.
    attempt: tokio::sync::Mutex<Option<Instant>>,
}

impl ConnectionSlot {
    /// Returns the connection and its generation. If there is no connection, connects first.
    pub(crate) async fn get_or_connect(
        &self,
        address: &RedisAddress,
        options: &ConnectionOptions,
    ) -> Result<(u64, RedisConnection), RedisCallError> {
        if let Some(present) = self.present() {
            return Ok(present);
        }
        let mut failed_at = self.attempt.lock().await;
        if let Some(present) = self.present() {
            return Ok(present);
        }
        if failed_at.is_some_and(|at| at.elapsed() < RECONNECT_PAUSE) {
            return Err(RedisCallError::Unreachable(
                "it could not be reached just now".into(),
            ));
        }
        match tokio::time::timeout(options.connect, open_connection(address, options)).await {
            Ok(Ok((connection, named))) => {
                *failed_at = None;
                let mut state = self.state.lock();
                state.generation += 1;
                state.connection = Some(connection.clone());
                state.named = named.map(|primary| (primary, Instant::now()));
                state.failing_since = None;
                Ok((state.generation, connection))
            }
            Ok(Err(error)) => {
                *failed_at = Some(Instant::now());
                Err(error.into())
            }
            Err(_) => {
                *failed_at = Some(Instant::now());
                Err(RedisCallError::Unreachable(
                    "connecting took too long".into(),
                ))
            }
        }
    }

    /// Notes that the connection gave an answer.
    pub(crate) fn note_answer(&self) {
        let mut state = self.state.lock();
        if state.failing_since.is_some() {
            state.failing_since = None;
        }
    }

    /// Notes that the connection of this generation gave no answer. The next call connects anew,
    /// unless another caller already did. A cluster's connection is given some time to repair
    /// itself.
    pub(crate) fn note_broken(&self, generation: u64) {
        let mut state = self.state.lock();
        if state.generation != generation {
            return;
        }
        let failing_since = *state.failing_since.get_or_insert_with(Instant::now);
        let mends_itself = matches!(state.connection, Some(RedisConnection::Cluster(_)));
        if !mends_itself || failing_since.elapsed() > CLUSTER_PATIENCE {
            state.connection = None;
        }
    }

    /// Returns whether [`Self::check_primary`] is due. If it is, only one caller gets true: the
    /// next check is due a second later.
    pub(crate) fn take_due_primary_check(&self) -> bool {
        match &mut self.state.lock().named {
            Some((_, asked_at)) if asked_at.elapsed() > PRIMARY_CHECK_EVERY => {
                *asked_at = Instant::now();
                true
            }
            _ => false,
        }
    }

    /// Asks the Sentinels which server is primary, and drops the connection if it leads to another
    /// server.
    pub(crate) async fn check_primary(&self, address: &RedisAddress, options: &ConnectionOptions) {
        let RedisAddress::Sentinel { sentinels, primary } = address else {
            return;
        };
        let generation = self.state.lock().generation;
        let answer =
            tokio::time::timeout(options.connect, primary_client(sentinels, primary)).await;
        // If the Sentinels do not answer, the connection is kept.
        let Ok(Ok(client)) = answer else { return };
        let mut state = self.state.lock();
        let is_other =
            |(named, _): &(ConnectionAddr, Instant)| named != client.get_connection_info().addr();
        if state.generation == generation && state.named.as_ref().is_some_and(is_other) {
            state.connection = None;
        }
    }

    fn present(&self) -> Option<(u64, RedisConnection)> {
        let state = self.state.lock();
        state
            .connection
            .clone()
            .map(|connection| (state.generation, connection))
    }
}

/// Returns a client of the server that the Sentinels name as primary. The package verifies the
/// server's role.
async fn primary_client(sentinels: &[ConnectionInfo], primary: &str) -> RedisResult<Client> {
    let addresses = sentinels.iter().map(|node| node.addr().clone());
    let mut builder = SentinelClientBuilder::new(addresses, primary, SentinelServerType::Master)?;
    if let Some(settings) = sentinels.first().map(|node| node.redis_settings()) {
        if let Some(user) = settings.username() {
            builder = builder.set_client_to_redis_username(user);
        }
        if let Some(password) = settings.password() {
            builder = builder.set_client_to_redis_password(password);
        }
    }
    builder.build()?.async_get_client().await
}

/// Opens a connection. Returns the connection and, if Sentinels were asked, the server that they
/// named.
async fn open_connection(
    address: &RedisAddress,
    options: &ConnectionOptions,
) -> RedisResult<(RedisConnection, Option<ConnectionAddr>)> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(options.connect))
        .set_response_timeout(Some(options.response))
        .set_pipeline_buffer_size(WAITING_CALLS_MAX);
    match address {
        RedisAddress::Single(server) => {
            let client = Client::open((**server).clone())?;
            let connection = client.get_multiplexed_async_connection_with_config(&config);
            Ok((RedisConnection::Server(connection.await?), None))
        }
        RedisAddress::Sentinel { sentinels, primary } => {
            // The Sentinels are asked each time, so that a switch-over is noticed.
            let client = primary_client(sentinels, primary).await?;
            let connection = client.get_multiplexed_async_connection_with_config(&config);
            let primary = client.get_connection_info().addr().clone();
            Ok((RedisConnection::Server(connection.await?), Some(primary)))
        }
        RedisAddress::Cluster(nodes) => {
            let client = ClusterClient::builder(nodes.clone())
                .connection_timeout(options.connect)
                .response_timeout(options.response)
                .overall_response_timeout(Some(options.response * 2))
                .retries(3)
                .min_retry_wait(10)
                .max_retry_wait(100)
                .build()?;
            Ok((
                RedisConnection::Cluster(client.get_async_connection().await?),
                None,
            ))
        }
    }
}
