//! What the visitors of a roll went through: their calls, and how long each of them waited for an
//! answer and for a socket.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_servers::actors::TestAnswer;
use parking_lot::Mutex;

/// A call that has ended.
#[derive(Debug)]
pub struct CallRecord {
    pub asked_at: Instant,
    pub took: Duration,
    /// Why the call failed. `None` if a gateway answered it.
    pub failure: Option<String>,
}

/// The calls of everybody. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct CallLog(Arc<Mutex<Vec<CallRecord>>>);

impl CallLog {
    /// Makes a call and notes how it ended. Returns the answer of a gateway, if one came in time.
    pub async fn ask(&self, call: reqwest::RequestBuilder, within: Duration) -> Option<TestAnswer> {
        let asked_at = Instant::now();
        let ended = tokio::time::timeout(within, TestAnswer::of(call)).await;
        let answer = match ended {
            Err(_) => Err("no answer".to_owned()),
            Ok(Err(error)) => Err(format!("{error:?}")),
            Ok(Ok(answer)) if is_of_gateway(&answer) => Ok(answer),
            Ok(Ok(answer)) => Err(format!("{} {}", answer.asked, answer.status)),
        };
        self.0.lock().push(CallRecord {
            asked_at,
            took: asked_at.elapsed(),
            failure: answer.as_ref().err().cloned(),
        });
        answer.ok()
    }

    /// Takes the calls so far.
    pub fn take(&self) -> Vec<CallRecord> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// Returns whether a gateway has answered a call, be it with a refusal. An overloaded gateway
/// refuses with 503 `busy`.
fn is_of_gateway(answer: &TestAnswer) -> bool {
    answer.status < 500 || answer.text().contains("\"busy\"")
}

/// How one visitor fared.
#[derive(Debug, Default)]
pub struct VisitorRecord {
    /// Since when the visitor has waited for an answer.
    unanswered_since: Option<Instant>,
    /// Since when the visitor has had no socket, after a first one.
    socketless_since: Option<Instant>,
    pub has_socket: bool,
    pub longest_unanswered: Duration,
    pub longest_socketless: Duration,
    /// The numbers of other places that the visitor was told.
    pub other_numbers: Vec<String>,
}

impl VisitorRecord {
    /// The visitor called, or lost the socket.
    pub fn note_asked(&mut self, now: Instant) {
        self.unanswered_since.get_or_insert(now);
    }

    /// An answer or a frame came.
    pub fn note_answered(&mut self, now: Instant) {
        if let Some(since) = self.unanswered_since.take() {
            self.longest_unanswered = self.longest_unanswered.max(now - since);
        }
    }

    /// The socket was opened.
    pub fn note_opened(&mut self, now: Instant) {
        self.note_answered(now);
        self.has_socket = true;
        if let Some(since) = self.socketless_since.take() {
            self.longest_socketless = self.longest_socketless.max(now - since);
        }
    }

    /// The socket was lost.
    pub fn note_lost(&mut self, now: Instant) {
        self.note_asked(now);
        self.has_socket = false;
        self.socketless_since.get_or_insert(now);
    }
}
