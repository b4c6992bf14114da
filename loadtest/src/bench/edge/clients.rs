//! Clients that misuse a gateway on purpose, and one that does not. They use bare TCP connections,
//! so that this module chooses every byte.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long one answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// The size of the clients' TCP segments in bytes, as in a network with a small MTU. With the large
/// segments of a loopback device, the kernel would buffer whole answers for clients that do not
/// read.
const SEGMENT_BYTES: u32 = 536;
/// The receive buffer of a client that does not read, in bytes.
const RECEIVE_BYTES: usize = 4_096;

/// The end of an answer that is sent in chunks.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// An answer that was read in full.
pub struct RawAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The length of the body, in bytes. If it comes in chunks, their heads count, too.
    pub body_bytes: usize,
}

/// Builds the head of a request. `rest` has further headers, each with its line end.
pub fn head(method: &str, path: &str, rest: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: edge\r\n{rest}\r\n")
}

/// Sends a request over an open connection, and reads the answer.
///
/// # Errors
/// Where no answer with a length comes in time.
pub async fn ask(stream: &mut TcpStream, request: &str) -> anyhow::Result<RawAnswer> {
    stream.write_all(request.as_bytes()).await?;
    timeout(ANSWER_MAX, read_answer(stream))
        .await
        .context("no answer came in time")?
}

async fn read_answer(stream: &mut TcpStream) -> anyhow::Result<RawAnswer> {
    let mut bytes = Vec::with_capacity(4 << 10);
    let head_bytes = loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            bail!("the connection ended before an answer");
        }
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            break end + 4;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_bytes]).to_ascii_lowercase();
    if head.contains("\r\ntransfer-encoding: chunked\r\n") {
        while !bytes.ends_with(LAST_CHUNK) {
            if stream.read_buf(&mut bytes).await? == 0 {
                bail!("the connection ended within an answer");
            }
        }
        return Ok(RawAnswer {
            status: status(&head)?,
            body_bytes: bytes.len() - head_bytes,
        });
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let body_bytes: usize = length
        .context("an answer without a length")?
        .trim()
        .parse()?;
    while bytes.len() < head_bytes + body_bytes {
        if stream.read_buf(&mut bytes).await? == 0 {
            bail!("the connection ended within an answer");
        }
    }
    Ok(RawAnswer {
        status: status(&head)?,
        body_bytes,
    })
}

fn status(head: &str) -> anyhow::Result<u16> {
    let status = head.split(' ').nth(1).context("no status")?;
    Ok(status.parse()?)
}

/// Uploads `bytes` bytes to the promoter's API without a key. Goes on uploading after the server
/// has answered. Returns the status of the answer.
///
/// # Errors
/// Where no answer comes.
pub async fn upload_without_key(address: SocketAddr, bytes: usize) -> anyhow::Result<u16> {
    let (mut answers, mut body) = TcpStream::connect(address).await?.into_split();
    let length = format!("content-length: {bytes}\r\n");
    let head = head("PUT", "/v1/promoter/rooms/sale/codes", &length);
    body.write_all(head.as_bytes()).await?;
    let uploading = async {
        let piece = vec![b'a'; 64 << 10];
        let mut left_bytes = bytes;
        while left_bytes > 0 {
            let part = left_bytes.min(piece.len());
            // The server may end the connection at any time.
            if body.write_all(&piece[..part]).await.is_err() {
                break;
            }
            left_bytes -= part;
        }
    };
    let reading = async {
        let mut answer = Vec::new();
        answers.read_to_end(&mut answer).await?;
        status(&String::from_utf8_lossy(&answer))
    };
    let (status, ()) = tokio::join!(timeout(ANSWER_MAX, reading), uploading);
    status.context("no answer came in time")?
}

/// Asks for `path` with small segments, and reads only the status.
///
/// # Errors
/// Where no answer begins.
pub async fn ask_and_stop_reading(address: SocketAddr, path: &str) -> anyhow::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_recv_buffer_size(RECEIVE_BYTES)?;
    socket.set_tcp_mss(SEGMENT_BYTES)?;
    socket.set_nonblocking(true)?;
    let socket = TcpSocket::from_std_stream(socket.into());
    let mut stream = socket.connect(address).await?;
    stream.write_all(head("GET", path, "").as_bytes()).await?;
    let mut status_line = [0; 12];
    let read = timeout(ANSWER_MAX, stream.read_exact(&mut status_line)).await;
    read.context("no answer came in time")??;
    if &status_line != b"HTTP/1.1 200" {
        bail!("{path} answered {}", String::from_utf8_lossy(&status_line));
    }
    Ok(stream)
}

/// Opens `count` connections, and sends `opening_bytes` on each.
///
/// # Errors
/// Where a connection is refused.
pub async fn open_many(
    address: SocketAddr,
    count: usize,
    opening_bytes: &'static str,
) -> anyhow::Result<Vec<TcpStream>> {
    let mut opening = JoinSet::new();
    let mut open = Vec::with_capacity(count);
    for _ in 0..count {
        if opening.len() >= 64
            && let Some(stream) = opening.join_next().await
        {
            open.push(stream??);
        }
        opening.spawn(async move {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(opening_bytes.as_bytes()).await?;
            anyhow::Ok(stream)
        });
    }
    while let Some(stream) = opening.join_next().await {
        open.push(stream??);
    }
    Ok(open)
}

/// Sends a byte a second on every connection until the server has ended all of them. A connection
/// also counts as ended when the server answers on it. Returns how long that took.
///
/// # Errors
/// Where a connection is still open after `deadline`.
pub async fn drip(mut open: Vec<TcpStream>, deadline: Duration) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut answer = vec![0; 4 << 10];
    while !open.is_empty() {
        if begun.elapsed() > deadline {
            bail!("{} connections are open after {deadline:?}", open.len());
        }
        sleep(Duration::from_secs(1)).await;
        open.retain(|stream| {
            let is_over = stream.try_read(&mut answer).is_ok();
            !is_over && stream.try_write(b"a").is_ok()
        });
    }
    Ok(begun.elapsed())
}
