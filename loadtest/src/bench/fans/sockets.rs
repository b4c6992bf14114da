//! Opens thousands of live sockets that cost this machine as little as possible, because the
//! gateway under test needs the same processors. Two threads read each socket once a second. A few
//! observers read every frame as soon as it comes, and note the time.

use parking_lot::Mutex;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use super::frames::{FanFrame, client_frame, next_frame};
use super::{ROOM, SHOW};

/// How often each socket is read.
const SWEEP: Duration = Duration::from_secs(1);
/// The number of threads that read the sockets.
const THREADS: usize = 2;
/// How long one upgrade may take.
const UPGRADE_MAX: Duration = Duration::from_secs(15);

/// What the sockets have received.
#[derive(Debug, Default)]
pub struct FanCounts {
    /// The number of `line` frames.
    pub lines: AtomicU64,
    /// The number of frames with seats.
    pub seats: AtomicU64,
    /// The number of sockets that the server closed or that broke.
    ended: AtomicU64,
    /// The reason that the server gave for the first socket that it closed.
    reason: Mutex<Option<String>>,
}

/// Open sockets. They close when this value is dropped.
pub struct FanSockets {
    counts: Arc<FanCounts>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// A socket whose frames are read as soon as they come.
pub struct FanObserver {
    observed: Arc<Mutex<FanObserved>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What an observer saw since the last call of [`FanObserver::take`].
#[derive(Debug, Clone, Default)]
pub struct FanObserved {
    /// When frames with seats came.
    pub seats: Vec<Instant>,
    /// `seats_every_ms` of the last `line` frame.
    pub seats_every_ms: Option<u64>,
}

impl FanSockets {
    /// Opens a socket for each place. With `watches`, each watches the show.
    ///
    /// # Errors
    /// Where a socket is refused.
    pub fn open(address: SocketAddr, places: &[String], watches: bool) -> anyhow::Result<Self> {
        let (counts, stop) = (Arc::<FanCounts>::default(), Arc::<AtomicBool>::default());
        let parts = places.chunks(places.len().div_ceil(THREADS).max(1));
        let opening = parts.enumerate().map(|(part, places)| {
            let places = places.to_vec();
            std::thread::spawn(move || {
                let open = |(person, place): (usize, &String)| {
                    let stream = upgrade(address, part * 100_000 + person, place, watches)?;
                    stream.set_nonblocking(true)?;
                    anyhow::Ok((stream, Vec::new()))
                };
                places.iter().enumerate().map(open).collect()
            })
        });
        let opening: Vec<JoinHandle<anyhow::Result<Vec<_>>>> = opening.collect();
        let mut threads = Vec::new();
        for opened in opening {
            let opened = opened.join();
            let sockets = opened.map_err(|_| anyhow::anyhow!("a thread of fans panicked"))??;
            let (counts, stop) = (Arc::clone(&counts), Arc::clone(&stop));
            threads.push(std::thread::spawn(move || sweep(sockets, &counts, &stop)));
        }
        Ok(Self {
            counts,
            stop,
            threads,
        })
    }

    /// Checks that every socket is open.
    ///
    /// # Errors
    /// Where a socket has ended. The error says how many have, and the server's first reason.
    pub fn ensure_open(&self) -> anyhow::Result<()> {
        let ended = self.counts.ended.load(Ordering::Relaxed);
        let reason = self.counts.reason.lock();
        ensure!(
            ended == 0,
            "{ended} sockets ended, the first because of: {}",
            reason.as_deref().unwrap_or("a broken connection")
        );
        Ok(())
    }

    /// Returns what the sockets have received so far.
    pub fn counts(&self) -> &FanCounts {
        &self.counts
    }
}

impl Drop for FanSockets {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has closed its sockets, too.
            let _ = thread.join();
        }
    }
}

impl FanObserver {
    /// Opens a socket that watches the show.
    ///
    /// # Errors
    /// Where the socket is refused.
    pub fn open(address: SocketAddr, person: usize, place: &str) -> anyhow::Result<Self> {
        let mut stream = upgrade(address, person, place, true)?;
        stream.set_read_timeout(Some(SWEEP))?;
        let (observed, stop) = (Arc::<Mutex<FanObserved>>::default(), Arc::default());
        let thread = {
            let (observed, stop) = (Arc::clone(&observed), Arc::<AtomicBool>::clone(&stop));
            std::thread::spawn(move || {
                let (mut partial, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
                while !stop.load(Ordering::Relaxed) {
                    let is_open = read_some(&mut stream, &mut partial, &mut buffer, |frame| {
                        let mut observed = observed.lock();
                        match frame {
                            FanFrame::Seats => observed.seats.push(Instant::now()),
                            FanFrame::Line(text) => {
                                let line: Value = serde_json::from_str(text).unwrap_or_default();
                                observed.seats_every_ms = line["seats_every_ms"].as_u64();
                            }
                            FanFrame::Ping(_) | FanFrame::Close(_) | FanFrame::Other => {}
                        }
                    });
                    if !is_open {
                        return;
                    }
                }
            })
        };
        Ok(Self {
            observed,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns what the observer saw since the last call.
    pub fn take(&self) -> FanObserved {
        let mut observed = self.observed.lock();
        std::mem::take(&mut observed)
    }
}

impl Drop for FanObserver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has closed its socket, too.
            let _ = thread.join();
        }
    }
}

/// Opens a live socket from a source address of its own.
fn upgrade(
    address: SocketAddr,
    person: usize,
    place: &str,
    watches: bool,
) -> anyhow::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    let source = format!("127.3.{}.{}:0", person / 200 % 200, person % 200 + 1);
    socket.bind(&source.parse::<SocketAddr>()?.into())?;
    socket.connect_timeout(&address.into(), UPGRADE_MAX)?;
    let mut stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(UPGRADE_MAX))?;
    let request = format!(
        "GET /v1/rooms/{ROOM}/live HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         sec-websocket-protocol: fairgate.v1, place.{place}\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            bail!("the connection ended before the upgrade");
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    let status = head.lines().next().context("no status")?;
    if !status.contains(" 101 ") {
        bail!("a socket was refused: {status}");
    }
    if watches {
        let watch = json!({"type": "watch", "show": SHOW}).to_string();
        stream.write_all(&client_frame(1, watch.as_bytes()))?;
    }
    Ok(stream)
}

/// Reads each socket once in every sweep, until `stop` is set.
fn sweep(mut sockets: Vec<(TcpStream, Vec<u8>)>, counts: &FanCounts, stop: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        sockets.retain_mut(|(stream, partial)| {
            let is_open = read_some(stream, partial, &mut buffer, |frame| match frame {
                FanFrame::Line(_) => {
                    counts.lines.fetch_add(1, Ordering::Relaxed);
                }
                FanFrame::Seats => {
                    counts.seats.fetch_add(1, Ordering::Relaxed);
                }
                FanFrame::Close(reason) => {
                    let mut first_reason = counts.reason.lock();
                    first_reason.get_or_insert_with(|| reason.to_owned());
                }
                FanFrame::Ping(_) | FanFrame::Other => {}
            });
            if !is_open {
                counts.ended.fetch_add(1, Ordering::Relaxed);
            }
            is_open
        });
        std::thread::sleep(SWEEP.saturating_sub(begun.elapsed()));
    }
}

/// Reads the bytes that have come, answers pings, and passes whole frames to `on_frame`. Returns
/// `false` once the connection has ended. `partial` keeps the beginning of a frame whose rest has
/// not come yet.
fn read_some(
    stream: &mut TcpStream,
    partial: &mut Vec<u8>,
    buffer: &mut [u8],
    mut on_frame: impl FnMut(FanFrame<'_>),
) -> bool {
    let read = match stream.read(buffer) {
        Ok(0) => return false,
        Ok(read) => read,
        Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    };
    partial.extend_from_slice(&buffer[..read]);
    let mut rest = partial.as_slice();
    let mut is_open = true;
    while let Some(frame) = next_frame(&mut rest) {
        if let FanFrame::Ping(payload) = frame {
            is_open &= stream.write_all(&client_frame(10, payload)).is_ok();
        }
        is_open &= !matches!(frame, FanFrame::Close(_));
        on_frame(frame);
    }
    let kept = rest.len();
    partial.drain(..partial.len() - kept);
    partial.shrink_to_fit();
    is_open
}
