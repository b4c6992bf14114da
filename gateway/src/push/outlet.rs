//! The sending half of one visitor's socket. The socket's own task uses it, and so do the loops
//! that send shared frames. A loop never waits for a client, and wakes the task only if the task
//! has something to do.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;
use std::time::Instant;

use fairgate_base::process::connection::{ConnectionHandle, DirectWrite};
use futures_util::task::AtomicWaker;

use super::ending::SocketEnd;
use super::frame::SharedFrame;
use super::read_tracker::ClientReadTracker;

/// Sends frames to one client.
#[derive(Debug)]
pub struct SocketOutlet {
    connection: ConnectionHandle,
    tracker: Mutex<ClientReadTracker>,
    /// Whether the socket is ending. Nothing may be sent after its close frame.
    ending: AtomicBool,
    /// Whether the socket's task has something to do.
    woken: AtomicBool,
    task: AtomicWaker,
}

impl SocketOutlet {
    /// Makes the outlet of a connection that was just upgraded.
    #[must_use]
    pub fn new(connection: ConnectionHandle) -> Self {
        Self {
            connection,
            tracker: Mutex::new(ClientReadTracker::new(Instant::now())),
            ending: AtomicBool::new(false),
            woken: AtomicBool::new(false),
            task: AtomicWaker::new(),
        }
    }

    /// Returns whether the client takes more frames. If not, the caller sends the newest state
    /// later.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.is_stuck() && self.tracker.lock().may_send()
    }

    /// Returns whether some bytes still wait because the system has not taken them.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.connection.is_stuck()
    }

    /// Returns whether the client has left a ping unanswered for too long.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.tracker.lock().is_stalled(Instant::now())
    }

    /// Sends a shared frame, and a ping if one is due. If the client takes no frames now, queues
    /// nothing and returns `false`.
    pub fn offer(&self, frame: &SharedFrame) -> bool {
        let mut tracker = self.tracker.lock();
        if self.is_ending() || !tracker.may_send() {
            return false;
        }
        let earlier_tracker = *tracker;
        tracker.count_sent(frame.bytes().len());
        let ping = tracker.next_ping(Instant::now()).map(SharedFrame::ping);
        let ping = ping.as_ref().map_or(&[][..], |ping| ping.bytes());
        match self.connection.try_write(frame.bytes(), ping) {
            DirectWrite::Taken => true,
            DirectWrite::Kept => {
                self.wake();
                true
            }
            DirectWrite::Busy | DirectWrite::Gone => {
                *tracker = earlier_tracker;
                false
            }
        }
    }

    /// Pings the client if a ping is due and no earlier bytes wait. The answer shows how much the
    /// client has read.
    pub fn ping_if_due(&self) {
        let mut tracker = self.tracker.lock();
        if self.is_ending() {
            return;
        }
        let earlier_tracker = *tracker;
        let Some(number) = tracker.next_ping(Instant::now()) else {
            return;
        };
        match self
            .connection
            .try_write(SharedFrame::ping(number).bytes(), &[])
        {
            DirectWrite::Taken => {}
            DirectWrite::Kept => self.wake(),
            DirectWrite::Busy | DirectWrite::Gone => *tracker = earlier_tracker,
        }
    }

    /// Sends a frame of the socket's own task, and a ping if one is due. Both go out after the
    /// bytes that still wait. The task checks [`SocketOutlet::is_open`] before a burst of frames.
    ///
    /// # Errors
    /// Fails if the client has gone.
    pub fn queue(&self, frame: &SharedFrame) -> Result<(), SocketEnd> {
        let mut tracker = self.tracker.lock();
        tracker.count_sent(frame.bytes().len());
        let ping = tracker.next_ping(Instant::now()).map(SharedFrame::ping);
        let ping = ping.as_ref().map_or(&[][..], |ping| ping.bytes());
        match self.connection.queue(frame.bytes(), ping) {
            DirectWrite::Gone => Err(SocketEnd::Gone),
            DirectWrite::Taken => Ok(()),
            DirectWrite::Kept | DirectWrite::Busy => {
                self.wake();
                Ok(())
            }
        }
    }

    /// Stops sending, before the close frame. Shared frames that come later are not sent.
    pub fn end(&self) {
        // A thread that is sending now has the lock, and finishes first.
        let _sending = self.tracker.lock();
        self.ending.store(true, Ordering::Release);
    }

    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Takes the answer to a ping. Returns `false` if no such ping is open.
    pub fn take_pong(&self, number: u32) -> bool {
        self.tracker.lock().take_pong(number)
    }

    /// Returns how many bytes were read from the client.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.connection.bytes_read()
    }

    /// Wakes the socket's task, because it has something to do.
    pub fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.task.wake();
    }

    /// Clears the mark that the task was woken, and returns whether it was set. Registers the task
    /// of `cx` as the one to wake from now on.
    pub fn take_wake(&self, cx: &Context<'_>) -> bool {
        self.task.register(cx.waker());
        self.woken.swap(false, Ordering::AcqRel)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    impl SocketOutlet {
        /// Clears the mark that the task was woken, and returns whether it was set.
        pub fn is_woken(&self) -> bool {
            self.woken.swap(false, Ordering::AcqRel)
        }
    }

    /// Returns the outlet of a connection, and its client.
    pub async fn outlet() -> (Arc<SocketOutlet>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).await.expect("it accepts");
        let (stream, _) = listener.accept().await.expect("a client");
        stream.writable().await.expect("it is open");
        let (_, half) = stream.into_split();
        let connection = ConnectionHandle::new(half);
        (Arc::new(SocketOutlet::new(connection)), client)
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_gets_no_more_and_its_task_is_woken_once_bytes_wait() {
        let (outlet, _client) = outlet().await;
        let frame = SharedFrame::binary(vec![0; 60_000]);
        assert!(outlet.is_open() && outlet.offer(&frame));
        assert!(outlet.offer(&frame), "the client may have 64 KiB unread");
        assert!(!outlet.is_open() && !outlet.offer(&frame));
        while !outlet.is_stuck() {
            outlet.queue(&frame).expect("it is connected");
        }
        assert!(outlet.is_woken());
        assert!(outlet.take_pong(1), "it was pinged with the first frame");
        assert!(!outlet.offer(&frame), "bytes still wait");
        outlet
            .queue(&frame)
            .expect("a task's frame waits behind them");
    }

    #[tokio::test]
    async fn no_shared_frame_comes_after_the_end() {
        let (outlet, _client) = outlet().await;
        let frame = SharedFrame::text("line");
        assert!(outlet.offer(&frame));
        outlet.end();
        assert!(!outlet.offer(&frame));
    }
}
