//! Reads the frames that sockets got: frames about a visitor's place and holds, frames about the
//! room and the line, and frames about seats.

use anyhow::{bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::hex_bytes;

/// A text frame that an invariant needs.
pub struct HistoryFrame {
    /// The line of the history file.
    pub line: u32,
    /// The owner of the socket. `visitor 3` and `observer 3` are two owners.
    pub owner: String,
    /// The number of the visitor; `None` for an observer.
    pub visitor: Option<u64>,
    /// When the frame arrived.
    pub at_ms: f64,
    /// What the frame says.
    pub body: HistoryFrameBody,
}

/// What a text frame says.
pub enum HistoryFrameBody {
    /// The visitor's own place.
    Place {
        number: Option<u64>,
        rank: Option<u64>,
        /// The people ahead; `None` before the draw.
        ahead: Option<u64>,
    },
    /// One of the visitor's own holds.
    Hold { hold: Box<str>, state: Box<str> },
    /// The state of the room.
    Room {
        released: Option<u64>,
        paused: Option<bool>,
        phase: Option<Box<str>>,
    },
    /// The state of the line.
    Line {
        released: u64,
        /// The free seats of all shows of the room.
        free: Option<u64>,
    },
    /// The visitor's turn has come.
    Turn,
}

/// One binary frame.
pub struct HistoryFeedFrame {
    /// The line of the history file.
    pub line: u32,
    /// The id of the observer.
    pub observer: String,
    /// When the frame arrived.
    pub at_ms: f64,
    /// The show of the seats.
    pub show: Box<str>,
    /// What the frame shows.
    pub body: HistoryFeedBody,
}

/// What a binary frame shows.
pub enum HistoryFeedBody {
    /// The states of all cells.
    Snapshot {
        version: u64,
        cells: u32,
        packed: Vec<u8>,
    },
    /// The cells that changed.
    Delta {
        from: u64,
        to: u64,
        cells: Vec<(u32, u8)>,
    },
}

#[derive(Deserialize)]
struct RawFrame {
    visitor: Option<u64>,
    observer: Option<Value>,
    at_ms: f64,
    #[serde(rename = "type")]
    what: String,
    number: Option<u64>,
    rank: Option<u64>,
    ahead: Option<u64>,
    hold: Option<Box<str>>,
    state: Option<Box<str>>,
    released: Option<u64>,
    paused: Option<bool>,
    phase: Option<Box<str>>,
    seats: Option<RawLineSeats>,
}

#[derive(Deserialize)]
struct RawLineSeats {
    free: Option<u64>,
}

#[derive(Deserialize)]
struct RawSnapshot {
    observer: Value,
    at_ms: f64,
    show: Box<str>,
    version: String,
    cells: u32,
    packed: String,
}

#[derive(Deserialize)]
struct RawDelta {
    observer: Value,
    at_ms: f64,
    show: Box<str>,
    from: String,
    to: String,
    cells: Vec<(u32, u8)>,
}

#[derive(Deserialize)]
struct RawSocket {
    visitor: Option<u64>,
    observer: Option<Value>,
    at_ms: f64,
    what: String,
}

fn observer_name(value: &Value) -> anyhow::Result<String> {
    match value {
        Value::String(name) => Ok(format!("observer {name}")),
        Value::Number(number) => Ok(format!("observer {number}")),
        other => bail!("an observer is a name or a number, not {other}"),
    }
}

fn socket_owner(observer: Option<&Value>, visitor: Option<u64>) -> anyhow::Result<String> {
    match (observer, visitor) {
        (Some(observer), _) => observer_name(observer),
        (None, Some(visitor)) => Ok(format!("visitor {visitor}")),
        (None, None) => bail!("neither \"visitor\" nor \"observer\""),
    }
}

/// Reads one text frame. Returns `None` if no invariant needs it.
pub(super) fn read(line: u32, text: &str) -> anyhow::Result<Option<HistoryFrame>> {
    let raw: RawFrame = serde_json::from_str(text)?;
    let body = match raw.what.as_str() {
        "place" => HistoryFrameBody::Place {
            number: raw.number,
            rank: raw.rank,
            ahead: raw.ahead,
        },
        "hold" => match (raw.hold, raw.state) {
            (Some(hold), Some(state)) => HistoryFrameBody::Hold { hold, state },
            _ => bail!("a hold's frame needs \"hold\" and \"state\""),
        },
        "room" => HistoryFrameBody::Room {
            released: raw.released,
            paused: raw.paused,
            phase: raw.phase,
        },
        "line" => match raw.released {
            Some(released) => HistoryFrameBody::Line {
                released,
                free: raw.seats.and_then(|seats| seats.free),
            },
            None => bail!("the line's frame needs \"released\""),
        },
        "turn" => HistoryFrameBody::Turn,
        "closed" | "draw" | "offer" => return Ok(None),
        other => bail!("no frame is of type {other:?}"),
    };
    Ok(Some(HistoryFrame {
        line,
        owner: socket_owner(raw.observer.as_ref(), raw.visitor)?,
        visitor: raw.visitor,
        at_ms: raw.at_ms,
        body,
    }))
}

pub(super) fn snapshot(line: u32, text: &str) -> anyhow::Result<HistoryFeedFrame> {
    let raw: RawSnapshot = serde_json::from_str(text)?;
    let packed = hex_bytes("packed", &raw.packed)?;
    ensure!(
        packed.len() == (raw.cells as usize).div_ceil(4),
        "{} cells do not have {} bytes",
        raw.cells,
        packed.len()
    );
    Ok(HistoryFeedFrame {
        line,
        observer: observer_name(&raw.observer)?,
        at_ms: raw.at_ms,
        show: raw.show,
        body: HistoryFeedBody::Snapshot {
            version: raw.version.parse()?,
            cells: raw.cells,
            packed,
        },
    })
}

pub(super) fn delta(line: u32, text: &str) -> anyhow::Result<HistoryFeedFrame> {
    let raw: RawDelta = serde_json::from_str(text)?;
    Ok(HistoryFeedFrame {
        line,
        observer: observer_name(&raw.observer)?,
        at_ms: raw.at_ms,
        show: raw.show,
        body: HistoryFeedBody::Delta {
            from: raw.from.parse()?,
            to: raw.to.parse()?,
            cells: raw.cells,
        },
    })
}

/// Returns whose socket closed and when, or `None` if a socket opened.
pub(super) fn close(text: &str) -> anyhow::Result<Option<(String, f64)>> {
    let raw: RawSocket = serde_json::from_str(text)?;
    let owner = socket_owner(raw.observer.as_ref(), raw.visitor)?;
    Ok((raw.what == "close").then_some((owner, raw.at_ms)))
}
