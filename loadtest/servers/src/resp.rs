//! Sends commands to Redis and reads the replies. This is only a part of the Redis protocol. It is
//! enough to set servers up, to break them, and to look at their data.

use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// The longest time until a server answers.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// A reply of Redis. [`call`] returns an error reply as an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RespReply {
    /// No value.
    Nil,
    /// An integer.
    Int(i64),
    /// A simple string or a bulk string.
    Text(String),
    /// A list of replies.
    List(Vec<Self>),
}

impl RespReply {
    /// Returns the text, or an empty text for other replies.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }
}

/// Sends one command to a port of this machine, on a connection of its own.
///
/// # Errors
/// Where no server answers, or the reply is an error.
pub async fn call(port: u16, words: &[&str]) -> anyhow::Result<RespReply> {
    let answer = async {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let mut stream = BufReader::new(stream);
        let mut out = format!("*{}\r\n", words.len());
        for word in words {
            out.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        stream.get_mut().write_all(out.as_bytes()).await?;
        read(&mut stream).await
    };
    let answer = tokio::time::timeout(ANSWERS_WITHIN, answer).await;
    answer
        .unwrap_or_else(|_| bail!("no answer within {} s", ANSWERS_WITHIN.as_secs()))
        .with_context(|| format!("redis on port {port}: {}", words.join(" ")))
}

/// Reads one reply. Nested lists are read with a stack, because an async function can call itself
/// only through a boxed future.
async fn read(stream: &mut BufReader<TcpStream>) -> anyhow::Result<RespReply> {
    let mut open: Vec<(usize, Vec<RespReply>)> = Vec::new();
    loop {
        let mut reply = match read_reply_part(stream).await? {
            RespReplyPart::Whole(reply) => reply,
            RespReplyPart::Opens(0) => RespReply::List(Vec::new()),
            RespReplyPart::Opens(count) => {
                open.push((count, Vec::new()));
                continue;
            }
        };
        loop {
            let Some((count, list)) = open.last_mut() else {
                return Ok(reply);
            };
            list.push(reply);
            if list.len() < *count {
                break;
            }
            reply = RespReply::List(open.pop().map(|(_, list)| list).unwrap_or_default());
        }
    }
}

enum RespReplyPart {
    Whole(RespReply),
    Opens(usize),
}

async fn read_reply_part(stream: &mut BufReader<TcpStream>) -> anyhow::Result<RespReplyPart> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        bail!("the connection was closed");
    }
    let line = line.trim_end();
    let (kind, rest) = line.split_at_checked(1).context("an empty reply")?;
    let whole = match kind {
        "+" => RespReply::Text(rest.to_owned()),
        "-" => bail!("{rest}"),
        ":" => RespReply::Int(rest.parse()?),
        "$" | "*" if rest.starts_with('-') => RespReply::Nil,
        "*" => return Ok(RespReplyPart::Opens(rest.parse()?)),
        "$" => {
            let mut bytes = vec![0; rest.parse::<usize>()? + 2];
            stream.read_exact(&mut bytes).await?;
            bytes.truncate(bytes.len() - 2);
            RespReply::Text(String::from_utf8_lossy(&bytes).into_owned())
        }
        _ => bail!("a reply that is none: {line}"),
    };
    Ok(RespReplyPart::Whole(whole))
}
