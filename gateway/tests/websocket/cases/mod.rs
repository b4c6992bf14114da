//! Lists the cases, in files by the suite's chapters.

mod closing;
mod fragments;
mod framing;
mod texts;

use std::collections::VecDeque;

use crate::client::{BINARY, PONG, TEXT, frame};

/// What a client sends, and what a correct server answers.
pub struct Case {
    /// The number of the case in the suite.
    pub id: String,
    /// The frames that are sent.
    pub frames: VecDeque<Vec<u8>>,
    /// The size in bytes of the pieces in which frames are written.
    pub chop: usize,
    /// The frames that the server must answer: the first byte and the payload of each.
    pub answers: Vec<(u8, Vec<u8>)>,
    /// How the connection ends.
    pub end: CaseEnd,
}

/// How a case ends.
pub enum CaseEnd {
    /// The client closes when it has all answers, and the server answers this close.
    ByUs,
    /// The server sends a close frame with this code.
    Closes(Option<u16>),
}

impl Case {
    fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            frames: VecDeque::new(),
            chop: usize::MAX,
            answers: Vec::new(),
            end: CaseEnd::ByUs,
        }
    }

    fn send(mut self, head: u8, payload: impl AsRef<[u8]>) -> Self {
        self.frames.push_back(frame(head, payload.as_ref()));
        self
    }

    fn chopped(mut self, bytes: usize) -> Self {
        self.chop = bytes;
        self
    }

    fn text(mut self, payload: impl AsRef<[u8]>) -> Self {
        self.answers.push((TEXT, payload.as_ref().to_vec()));
        self
    }

    fn binary(mut self, payload: impl AsRef<[u8]>) -> Self {
        self.answers.push((BINARY, payload.as_ref().to_vec()));
        self
    }

    fn pong(mut self, payload: impl AsRef<[u8]>) -> Self {
        self.answers.push((PONG, payload.as_ref().to_vec()));
        self
    }

    fn closes(mut self, code: impl Into<Option<u16>>) -> Self {
        self.end = CaseEnd::Closes(code.into());
        self
    }
}

/// Returns all cases.
pub fn all() -> Vec<Case> {
    let mut all = framing::cases();
    all.extend(fragments::cases());
    all.extend(texts::cases());
    all.extend(closing::cases());
    all
}
