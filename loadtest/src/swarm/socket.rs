//! Keeps a visitor's live socket open, connects again when it closes, and reads its frames. It
//! records frames in the history and passes on those that concern the visitor. In the load test,
//! only this module and its submodules use tokio-tungstenite.

mod frames;
mod wire;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

pub use frames::{SwarmSeatDelta, SwarmSeatSnapshot};

use super::stage::{SwarmContext, round};

/// The visitor or observer that a socket belongs to.
#[derive(Clone)]
pub struct SwarmSocketOwner {
    /// The number of the visitor or the observer.
    pub number: usize,
    /// Whether the owner is an observer.
    pub observer: bool,
    /// The signed place of the owner.
    pub place: String,
    /// The address that a proxy reports as the owner's, if there is one.
    pub address: Option<Ipv4Addr>,
}

/// What a socket passes on to its visitor or observer.
#[derive(Debug, Clone, PartialEq)]
pub enum SwarmSocketEvent {
    /// The visitor's number and rank.
    Place(Option<u64>, Option<u64>),
    /// The visitor's turn has come.
    Turn,
    /// The line has ended, for this reason.
    Closed(String),
    /// A frame of seats. Only observers get it.
    Seats(Bytes),
}

/// What a visitor asks of its socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwarmSocketCommand {
    /// Watch the seats of a show.
    Watch(String),
    /// Drop the connection, and connect again after this time.
    Drop(Duration),
}

/// A handle to a socket. The socket closes when the handle is dropped. A visitor's socket also
/// closes when the run ends.
pub struct SwarmSocket {
    /// The events that the socket passes on.
    pub events: mpsc::UnboundedReceiver<SwarmSocketEvent>,
    commands: mpsc::UnboundedSender<SwarmSocketCommand>,
}

/// How one connection ended.
enum SwarmConnectionEnd {
    /// The connection closed or broke. The value is the wait before the next connection, in
    /// milliseconds, if the server named one.
    Closed(Option<f64>),
    /// The visitor dropped the connection on purpose. It connects again after this time.
    Dropped(Duration),
    /// The owner no longer needs the connection, or the run is over.
    Unwanted,
}

impl SwarmSocket {
    /// Keeps a socket open for its owner.
    pub fn open(stage: Arc<SwarmContext>, owner: SwarmSocketOwner, rng: ChaCha8Rng) -> Self {
        let (event_sender, events) = mpsc::unbounded_channel();
        let (command_sender, commands) = mpsc::unbounded_channel();
        let task = SwarmSocketTask {
            stage,
            owner,
            events: event_sender,
            commands,
            watched: None,
            rng,
        };
        tokio::spawn(task.keep_connected());
        Self {
            events,
            commands: command_sender,
        }
    }

    /// Sends a command to the socket.
    pub fn send_command(&self, command: SwarmSocketCommand) {
        // Sending fails only if the socket's task has ended, because the run is over.
        let _ = self.commands.send(command);
    }
}

/// Opens a socket, watches the seats of the first show, and reads nothing until the run is over.
///
/// # Errors
/// Why the socket could not be opened.
pub async fn open_mute(stage: &SwarmContext, owner: &SwarmSocketOwner) -> Result<(), String> {
    let mut socket = wire::connect(stage, owner).await?;
    if let Some(show) = stage.shows.first() {
        let watch = json!({"type": "watch", "show": show.id}).to_string();
        let watch = Message::Text(watch.into());
        socket
            .send(watch)
            .await
            .map_err(|error| error.to_string())?;
    }
    stage.wait_until_over().await;
    Ok(())
}

struct SwarmSocketTask {
    stage: Arc<SwarmContext>,
    owner: SwarmSocketOwner,
    events: mpsc::UnboundedSender<SwarmSocketEvent>,
    commands: mpsc::UnboundedReceiver<SwarmSocketCommand>,
    watched: Option<String>,
    rng: ChaCha8Rng,
}

impl SwarmSocketTask {
    async fn keep_connected(mut self) {
        let mut backoff_ms = 200.0;
        let mut opened = false;
        loop {
            let retry_ms = match wire::connect(&self.stage, &self.owner).await {
                Ok(mut socket) => {
                    self.note("open", None);
                    backoff_ms = 200.0;
                    let ended = self.listen(&mut socket, opened).await;
                    opened = true;
                    let dropped = matches!(ended, SwarmConnectionEnd::Dropped(_));
                    if !dropped {
                        // If the server has already closed the connection, this has no effect.
                        let _ =
                            tokio::time::timeout(Duration::from_secs(1), socket.close(None)).await;
                    }
                    match ended {
                        SwarmConnectionEnd::Unwanted => {
                            self.note("close", None);
                            return;
                        }
                        SwarmConnectionEnd::Dropped(away) => {
                            self.note("close", None);
                            away.as_secs_f64() * 1e3
                        }
                        SwarmConnectionEnd::Closed(Some(retry_ms)) => retry_ms,
                        SwarmConnectionEnd::Closed(None) => {
                            backoff_ms * (0.5 + self.rng.random::<f64>())
                        }
                    }
                }
                Err(_) => backoff_ms * (0.5 + self.rng.random::<f64>()),
            };
            backoff_ms = (backoff_ms * 2.0).min(3_000.0);
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs_f64(retry_ms / 1e3)) => {}
                () = self.events.closed() => return,
                () = unwanted(&self.stage, &self.owner) => return,
            }
        }
    }

    async fn listen(
        &mut self,
        socket: &mut wire::SwarmWebSocket,
        is_reconnected: bool,
    ) -> SwarmConnectionEnd {
        if let Some(show) = self.watched.clone()
            && self.watch(socket, &show).await.is_err()
        {
            return SwarmConnectionEnd::Closed(None);
        }
        loop {
            tokio::select! {
                frame = socket.next() => match frame {
                    Some(Ok(Message::Text(text))) => self.handle_frame(&text, is_reconnected),
                    Some(Ok(Message::Binary(seats))) => {
                        if self.owner.observer {
                            let _ = self.events.send(SwarmSocketEvent::Seats(seats));
                        }
                    }
                    Some(Ok(Message::Close(frame))) => {
                        let code = frame.as_ref().map(|frame| u16::from(frame.code));
                        self.note("close", code);
                        return SwarmConnectionEnd::Closed(frame.and_then(|frame| retry_ms(&frame.reason)));
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => {
                        self.note("close", None);
                        return SwarmConnectionEnd::Closed(None);
                    }
                },
                command = self.commands.recv() => match command {
                    Some(SwarmSocketCommand::Watch(show)) => {
                        self.watched = Some(show.clone());
                        if self.watch(socket, &show).await.is_err() {
                            return SwarmConnectionEnd::Closed(None);
                        }
                    }
                    Some(SwarmSocketCommand::Drop(away)) => return SwarmConnectionEnd::Dropped(away),
                    None => return SwarmConnectionEnd::Unwanted,
                },
                () = unwanted(&self.stage, &self.owner) => return SwarmConnectionEnd::Unwanted,
            }
        }
    }

    async fn watch(&self, socket: &mut wire::SwarmWebSocket, show: &str) -> Result<(), ()> {
        let watch = json!({"type": "watch", "show": show}).to_string();
        socket
            .send(Message::Text(Utf8Bytes::from(watch)))
            .await
            .map_err(drop)
    }

    /// Records a text frame if the history needs it, and passes it on if it concerns the visitor.
    /// `is_reconnected` is false on the first connection only.
    fn handle_frame(&self, text: &str, is_reconnected: bool) {
        let at_ms = self.stage.clock.now_ms();
        let Some(frame) = frames::read(text) else {
            return;
        };
        if let frames::VisitorFrame::Line { released, free } = &frame {
            self.stage.tally.line(at_ms, *released, *free);
        }
        if self.owner.observer || frame.is_personal() {
            let mut record = frame.record(text);
            record["at_ms"] = json!(round(at_ms));
            record[self.name()] = json!(self.owner.number);
            self.stage.history.write("frame", record);
        }
        let event = match frame {
            frames::VisitorFrame::Place {
                number,
                rank,
                ahead,
            } => {
                if !self.owner.observer {
                    self.stage.tally.person(self.owner.number, |person| {
                        if is_reconnected {
                            person.reread(number, rank);
                        }
                        person.read_ahead(ahead, at_ms, at_ms);
                    });
                }
                SwarmSocketEvent::Place(number, rank)
            }
            frames::VisitorFrame::Turn => SwarmSocketEvent::Turn,
            frames::VisitorFrame::Closed { reason } => SwarmSocketEvent::Closed(reason),
            frames::VisitorFrame::Line { .. }
            | frames::VisitorFrame::Hold
            | frames::VisitorFrame::Other => return,
        };
        // If the visitor has ended, its receiver is dropped, and the next `select!` ends the
        // connection.
        let _ = self.events.send(event);
    }

    fn note(&self, what: &str, close_code: Option<u16>) {
        let mut record = json!({
            "at_ms": round(self.stage.clock.now_ms()), "what": what, "close_code": close_code,
        });
        record[self.name()] = json!(self.owner.number);
        self.stage.history.write("socket", record);
    }

    fn name(&self) -> &'static str {
        if self.owner.observer {
            "observer"
        } else {
            "visitor"
        }
    }
}

/// Waits until the socket is no longer needed. A visitor's socket is needed until the run ends. An
/// observer's socket is needed until its handle is dropped, so for an observer this never returns.
async fn unwanted(stage: &SwarmContext, owner: &SwarmSocketOwner) {
    if owner.observer {
        std::future::pending::<()>().await;
    }
    stage.wait_until_over().await;
}

/// Returns the `retry_ms` in the reason of a close frame, in milliseconds.
fn retry_ms(reason: &str) -> Option<f64> {
    let hint: serde_json::Value = serde_json::from_str(reason).ok()?;
    hint["retry_ms"].as_f64()
}
