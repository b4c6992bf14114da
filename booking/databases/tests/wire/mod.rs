//! A proxy between a client and PostgreSQL. A test can cut it at a chosen message.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the wire loses when the client's message contains the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The server gets the message, and the answer is lost.
    Answer(&'static str),
    /// The message is lost.
    Question(&'static str),
}

/// The proxy. It forwards connections, and cuts one when the test has asked for it.
pub struct Wire {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    next: Mutex<Option<Cut>>,
    cuts: AtomicU32,
}

impl Wire {
    /// Starts a proxy for the server at this address.
    pub async fn to(url: &str) -> Self {
        let target: u16 = url
            .split(':')
            .next_back()
            .and_then(|rest| rest.split('/').next())
            .and_then(|port| port.parse().ok())
            .expect("a port");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", target)).await;
                let server = server.expect("the server answers");
                tokio::spawn(forward(client, server, Arc::clone(&shared)));
            }
        });
        Self { port, state }
    }

    /// Returns the address of this proxy, for clients of the server.
    pub fn url(&self) -> String {
        format!("postgres://fairgate@127.0.0.1:{}/fairgate", self.port)
    }

    /// Loses the answer to the next message that contains `word`.
    pub fn lose_the_answer_to(&self, word: &'static str) {
        *self.state.next.lock() = Some(Cut::Answer(word));
    }

    /// Loses the next message that contains `word`.
    pub fn lose_the_question(&self, word: &'static str) {
        *self.state.next.lock() = Some(Cut::Question(word));
    }

    /// Returns how many connections were cut.
    pub fn cuts(&self) -> u32 {
        self.state.cuts.load(Ordering::SeqCst)
    }
}

/// Forwards bytes both ways. When one side ends or the test cuts the connection, closes both sides.
async fn forward(mut client: TcpStream, mut server: TcpStream, state: Arc<State>) {
    let (mut said, mut answered) = ([0; 16_384], [0; 16_384]);
    loop {
        tokio::select! {
            read = client.read(&mut said) => {
                let Ok(length @ 1..) = read else { return };
                let cut = state.take(&said[..length]);
                if matches!(cut, Some(Cut::Question(_))) {
                    return;
                }
                if server.write_all(&said[..length]).await.is_err() {
                    return;
                }
                if cut.is_some() {
                    // Once the answer begins, the server has carried out the message.
                    let _ = server.read(&mut answered).await;
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&answered[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

impl State {
    /// Returns the cut for this message, if one is due.
    fn take(&self, said: &[u8]) -> Option<Cut> {
        let mut next = self.next.lock();
        let (Cut::Answer(word) | Cut::Question(word)) = (*next)?;
        if !said.windows(word.len()).any(|part| part == word.as_bytes()) {
            return None;
        }
        self.cuts.fetch_add(1, Ordering::SeqCst);
        next.take()
    }
}
