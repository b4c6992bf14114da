//! The thread that writes the frames that many sockets share. The threads of the runtime do not
//! suit this work. If they wrote without pauses, the calls of buyers would wait until all sockets
//! are written. If they paused, each pause would last until all other waiting work is done. The
//! system shares the processors fairly between this thread and the runtime's threads.

use std::sync::{Arc, mpsc};

use tokio::sync::oneshot;

type Work = Box<dyn FnOnce() + Send>;

/// The thread that writes shared frames; a cheap handle. The thread ends with the last handle.
#[derive(Debug, Clone)]
pub struct FrameWriter {
    sender: Option<Arc<mpsc::Sender<Work>>>,
}

impl Default for FrameWriter {
    fn default() -> Self {
        Self::start()
    }
}

impl FrameWriter {
    /// Starts the thread. If the system cannot start one, the callers' threads do the work.
    #[must_use]
    pub fn start() -> Self {
        let (sender, receiver) = mpsc::channel::<Work>();
        let run_all = move || receiver.into_iter().for_each(|work| work());
        let thread = std::thread::Builder::new()
            .name("frame-writer".to_owned())
            .spawn(run_all);
        Self {
            sender: thread.ok().map(|_| Arc::new(sender)),
        }
    }

    /// Does the work on the thread, after all earlier work, and waits until this work is done.
    pub async fn run(&self, work: impl FnOnce() + Send + 'static) {
        let (done, finished) = oneshot::channel();
        let work: Work = Box::new(move || {
            work();
            // The caller may have gone.
            let _ = done.send(());
        });
        match &self.sender {
            Some(sender) => match sender.send(work) {
                Ok(()) => {}
                Err(mpsc::SendError(work)) => work(),
            },
            None => work(),
        }
        // The sender is dropped without a message only if the work panicked.
        let _ = finished.await;
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[tokio::test]
    async fn work_is_done_in_order_on_another_thread() {
        let frame_writer = FrameWriter::start();
        let done = Arc::new(Mutex::new(Vec::new()));
        let note = |what: u32| {
            let done = Arc::clone(&done);
            frame_writer.run(move || {
                let name = std::thread::current().name().map(str::to_owned);
                done.lock().push((what, name));
            })
        };
        tokio::join!(note(1), note(2));
        let done = done.lock();
        let expected = [1, 2].map(|what| (what, Some("frame-writer".to_owned())));
        assert_eq!(*done, expected);
    }
}
