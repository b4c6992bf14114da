#![doc = include_str!("../README.md")]

mod address;
mod argument;
mod command;
mod error;
mod health;
mod registry;
mod reply;
mod script;
mod slot;
mod start_check;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub use argument::RedisArgument;
pub use command::RedisCommand;
pub use error::RedisCallError;
pub use health::{CLOCK_OFF_MS_MAX, ServerFinding};
pub use registry::ScriptCall;
pub use reply::RedisReply;
pub use script::{RedisScript, ScriptArgumentNames, ScriptFamily, ScriptInvocation, ScriptRecord};

pub use start_check::RedisStartError;

use address::RedisAddress;
use redis::{Cmd, Value};
use slot::{ConnectionSlot, RedisConnection};

/// The time limits and the number of connections.
#[derive(Debug, Clone)]
pub struct ConnectionOptions {
    /// How long to wait for an answer. After that the call counts as failed, but may still be
    /// carried out. 500 ms by default.
    pub response: Duration,
    /// How long connecting may take, including the call to the Sentinels. 1 s by default.
    pub connect: Duration,
    /// The number of connections, which share the calls. 2 by default. For a cluster this is
    /// ignored, because there is one connection to each node.
    pub connections: usize,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            response: Duration::from_millis(500),
            connect: Duration::from_secs(1),
            connections: 2,
        }
    }
}

/// A handle on Redis, which is cheap to clone. It connects at its first use, and again after its
/// connection broke.
#[derive(Clone)]
pub struct Redis {
    inner: Arc<RedisShared>,
}

struct RedisShared {
    address: RedisAddress,
    options: ConnectionOptions,
    slots: Vec<ConnectionSlot>,
    next: AtomicUsize,
}

impl Redis {
    /// Returns a handle on the servers at a URL, with the default options.
    ///
    /// # Errors
    /// `Wrong` where the URL is not valid. The servers are not asked yet.
    pub fn connect(url: &str) -> Result<Self, RedisCallError> {
        Self::connect_with(url, ConnectionOptions::default())
    }

    /// Returns a handle on the servers at a URL.
    ///
    /// # Errors
    /// `Wrong` where the URL is not valid. The servers are not asked yet.
    pub fn connect_with(url: &str, options: ConnectionOptions) -> Result<Self, RedisCallError> {
        let address = RedisAddress::parse(url)?;
        let slots = match address {
            RedisAddress::Cluster(_) => 1,
            RedisAddress::Single(_) | RedisAddress::Sentinel { .. } => options.connections.max(1),
        };
        Ok(Self {
            inner: Arc::new(RedisShared {
                address,
                options,
                slots: (0..slots).map(|_| ConnectionSlot::default()).collect(),
                next: AtomicUsize::new(0),
            }),
        })
    }

    /// Runs a script on its key. Sends the script's hash. If the server does not have the script
    /// yet, sends its source. If the connection is broken, connects anew and sends the script once
    /// more. So the script must be idempotent.
    ///
    /// # Errors
    /// `Unreachable` where no answer came. The script may have run. `Refused`, with its code, where
    /// the answer is an error reply. `Wrong` where the answer has the wrong form.
    pub async fn run_script<F: ScriptFamily>(
        &self,
        key: &str,
        family: F,
        invocation: &ScriptInvocation<F>,
    ) -> Result<RedisReply, RedisCallError> {
        let mut family_arguments = Vec::new();
        family.push_to(&mut family_arguments);
        match self
            .send_with_retry(&invocation.by_hash(key, &family_arguments))
            .await
        {
            Err(RedisCallError::Refused(code, _)) if code == "NOSCRIPT" => {
                self.send_with_retry(&invocation.by_source(key, &family_arguments))
                    .await
            }
            answer => answer,
        }
    }

    /// Sends a plain command.
    ///
    /// # Errors
    /// As [`Redis::run_script`].
    pub async fn ask(&self, command: &RedisCommand) -> Result<RedisReply, RedisCallError> {
        self.send_with_retry(&command.build()).await
    }

    /// Sends a command to all primaries. A single server counts as one primary.
    ///
    /// # Errors
    /// As [`Redis::run_script`].
    pub async fn ask_all(&self, command: &RedisCommand) -> Result<Vec<RedisReply>, RedisCallError> {
        let (slot, generation, mut connection) = self.pick_connection().await?;
        let answers = connection
            .send_to_all(command.build())
            .await
            .map_err(RedisCallError::from)
            .inspect_err(|error| note_call_result(slot, generation, error))?;
        answers.into_iter().map(RedisReply::from_value).collect()
    }

    /// Sends a command. If it fails quickly, sends it once more. A quick failure means that the
    /// connection was broken, not that the server was slow.
    async fn send_with_retry(&self, command: &Cmd) -> Result<RedisReply, RedisCallError> {
        let started = Instant::now();
        match self.send_once(command).await {
            Err(RedisCallError::Unreachable(_))
                if started.elapsed() < self.inner.options.response / 2 =>
            {
                self.send_once(command).await
            }
            answer => answer,
        }
    }

    async fn send_once(&self, command: &Cmd) -> Result<RedisReply, RedisCallError> {
        let (slot, generation, mut connection) = self.pick_connection().await?;
        let answer: Result<Value, RedisCallError> =
            connection.send(command).await.map_err(RedisCallError::from);
        match answer.and_then(RedisReply::from_value) {
            Ok(reply) => {
                slot.note_answer();
                Ok(reply)
            }
            Err(error) => {
                note_call_result(slot, generation, &error);
                Err(error)
            }
        }
    }

    async fn pick_connection(
        &self,
    ) -> Result<(&ConnectionSlot, u64, RedisConnection), RedisCallError> {
        let inner = &self.inner;
        let nth = inner.next.fetch_add(1, Ordering::Relaxed) % inner.slots.len();
        let slot = &inner.slots[nth];
        let (generation, connection) = slot.get_or_connect(&inner.address, &inner.options).await?;
        if slot.take_due_primary_check() {
            // The check runs in its own task, so that the call does not wait for it.
            let inner = Arc::clone(inner);
            tokio::spawn(async move {
                let slot = &inner.slots[nth];
                slot.check_primary(&inner.address, &inner.options).await;
            });
        }
        Ok((slot, generation, connection))
    }
}

fn note_call_result(slot: &ConnectionSlot, generation: u64, error: &RedisCallError) {
    if matches!(error, RedisCallError::Unreachable(_)) {
        slot.note_broken(generation);
    } else {
        slot.note_answer();
    }
}
