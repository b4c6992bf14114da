//! Records the commands that a client sends to Redis, so that the same bytes can be sent again
//! without that client.

use parking_lot::Mutex;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The bytes of each command of all connections, in the order of arrival.
#[derive(Clone, Default)]
pub struct RecordedCommands {
    commands: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl RecordedCommands {
    /// Returns how many commands were recorded so far.
    pub fn count(&self) -> usize {
        self.commands.lock().len()
    }

    /// Returns the commands from index `from` up to index `to`, without the command at `to`.
    pub fn between(&self, from: usize, to: usize) -> Vec<Vec<u8>> {
        self.commands.lock()[from..to].to_vec()
    }
}

/// A proxy in front of Redis that records commands. Dropping the proxy stops only new connections,
/// because each open connection is a task of its own.
pub struct RedisRecordingProxy {
    /// The port on which the proxy listens.
    pub port: u16,
    /// The commands that the proxy has recorded.
    pub recorded: RecordedCommands,
    accepting: tokio::task::JoinHandle<()>,
}

impl Drop for RedisRecordingProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl RedisRecordingProxy {
    /// Opens a proxy in front of the Redis on the port `redis`.
    ///
    /// # Errors
    /// Where no port is free.
    pub async fn for_redis_port(redis: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let recorded = RecordedCommands::default();
        let recording = recorded.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(forward_connection(near, redis, recording.clone()));
            }
        });
        Ok(Self {
            port,
            recorded,
            accepting,
        })
    }
}

async fn forward_connection(
    near: TcpStream,
    redis: u16,
    recording: RecordedCommands,
) -> std::io::Result<()> {
    let far = TcpStream::connect(("127.0.0.1", redis)).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let (mut from_near, mut to_near) = near.into_split();
    let (mut from_far, mut to_far) = far.into_split();
    let back = tokio::spawn(async move { tokio::io::copy(&mut from_far, &mut to_near).await });
    let (mut buffer, mut unread) = (vec![0; 1 << 16], Vec::new());
    loop {
        let read = from_near.read(&mut buffer).await?;
        if read == 0 {
            back.abort();
            return Ok(());
        }
        unread.extend_from_slice(&buffer[..read]);
        let mut commands = Vec::new();
        let mut at = 0;
        while let Some(length) = command_length(&unread[at..]) {
            commands.push(unread[at..at + length].to_vec());
            at += length;
        }
        unread.drain(..at);
        recording.commands.lock().append(&mut commands);
        to_far.write_all(&buffer[..read]).await?;
    }
}

/// Returns the length of the command with which the bytes begin. Returns `None` if the command has
/// not arrived in full, or if the bytes are no command.
fn command_length(bytes: &[u8]) -> Option<usize> {
    let (words, mut at) = number_after_mark(bytes, b'*')?;
    for _ in 0..words {
        let (length, header) = number_after_mark(bytes.get(at..)?, b'$')?;
        at += header + length + 2;
    }
    (at <= bytes.len()).then_some(at)
}

/// Reads a line such as `$12\r\n`, and returns its number and its length. Returns `None` if the
/// line is incomplete or has another form.
fn number_after_mark(bytes: &[u8], mark: u8) -> Option<(usize, usize)> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let line = bytes.get(..end)?.strip_prefix(&[mark])?;
    let number = std::str::from_utf8(line).ok()?.parse().ok()?;
    Some((number, end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_a_length_only_after_its_last_byte_has_arrived() {
        let command = b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n";
        assert_eq!(command_length(command), Some(command.len()));
        for cut in 0..command.len() {
            assert_eq!(command_length(&command[..cut]), None, "{cut}");
        }
        let two = [&command[..], b"*1\r\n$4\r\nPING\r\n"].concat();
        assert_eq!(command_length(&two), Some(command.len()));
    }
}
