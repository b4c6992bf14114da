//! Measures the baseline without the store. Sends recorded commands again over one connection, with
//! about as many in flight as the store had. Reads the answers only to count the errors.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// The number of commands in a burst. Each burst is one write. Together, the bursts in flight
/// contain at least as many commands as the store had in flight.
const BURST: usize = 32;

/// Sends all commands to the Redis on a port, with about `at_once` in flight. Returns how long it
/// took until the last command was answered, and how many answers were errors.
///
/// # Errors
/// Where the connection fails, or an answer cannot be read.
pub fn replay_commands(
    port: u16,
    commands: &[Vec<u8>],
    at_once: usize,
) -> anyhow::Result<(Duration, usize)> {
    let stream = TcpStream::connect(("127.0.0.1", port)).context("no Redis answers")?;
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let mut answers = BufReader::with_capacity(1 << 16, stream);
    // Each message allows the writer to send one burst. The first bursts do not wait for answers.
    let (answered, may_send) = mpsc::channel();
    for _ in 0..at_once.div_ceil(BURST) {
        answered.send(())?;
    }
    let bursts: Vec<Vec<u8>> = commands.chunks(BURST).map(<[Vec<u8>]>::concat).collect();
    let begun = Instant::now();
    let mut errors = 0;
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let writing = scope.spawn(move || -> std::io::Result<()> {
            for burst in &bursts {
                if may_send.recv().is_err() {
                    return Ok(());
                }
                out.write_all(burst)?;
            }
            Ok(())
        });
        for burst in commands.chunks(BURST) {
            for _ in burst {
                errors += usize::from(!skip(&mut answers)?);
            }
            // The writer ends after its last burst. Nobody receives the messages after that.
            let _ = answered.send(());
        }
        drop(answered);
        match writing.join() {
            Ok(written) => written.context("the commands could not be sent"),
            Err(_) => bail!("the thread that sends broke"),
        }
    })?;
    Ok((begun.elapsed(), errors))
}

/// Reads one answer to its end. Returns false if the answer is or contains an error.
fn skip(answers: &mut impl BufRead) -> anyhow::Result<bool> {
    let (mut open, mut good, mut line) = (1_usize, true, Vec::new());
    while open > 0 {
        open -= 1;
        line.clear();
        answers.read_until(b'\n', &mut line)?;
        let text = std::str::from_utf8(&line).unwrap_or_default().trim_end();
        let Some(kind) = text.bytes().next() else {
            bail!("the connection was closed");
        };
        let count = || text[1..].parse::<i64>().context("no number in an answer");
        match kind {
            b'*' => open += usize::try_from(count()?).unwrap_or(0),
            b'$' => {
                if let Ok(length) = u64::try_from(count()?) {
                    std::io::copy(&mut answers.take(length + 2), &mut std::io::sink())?;
                }
            }
            b'-' => good = false,
            _ => {}
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_answer_is_read_to_its_end() {
        let text = b"+OK\r\n*2\r\n$2\r\nOK\r\n*2\r\n:1\r\n$-1\r\n-ERR no\r\n*-1\r\n:7\r\n";
        let mut answers = &text[..];
        let read: Vec<bool> = std::iter::repeat_with(|| skip(&mut answers).expect("whole"))
            .take(5)
            .collect();
        assert_eq!(read, [true, true, false, true, true]);
        assert!(answers.is_empty());
        assert!(skip(&mut answers).is_err());
    }
}
