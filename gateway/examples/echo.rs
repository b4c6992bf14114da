//! Echoes WebSocket messages, with the connection code of the live sockets. Suites that test the
//! WebSocket protocol run against it: `cargo run -p gateway --example echo -- 127.0.0.1:9001`.

use std::collections::VecDeque;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use fairgate_base::process::connection::ConnectionHandle;
use fairgate_base::process::connections::ConnectionLimits;
use fairgate_base::process::serve::{self, EndSignals};
use gateway::push::client_wire::{ClientWire, WireEvent, with_limits};
use gateway::push::ending::SocketEnd;
use gateway::push::frame::SharedFrame;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// The longest message that is echoed, in bytes. Suites send messages of up to 16 MiB.
const MESSAGE_BYTES_MAX: usize = 17 << 20;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:9001")).await?;
    run(listener).await;
    Ok(())
}

/// Echoes the messages of every socket that connects to the listener.
pub async fn run(listener: TcpListener) {
    let (_open, closing) = watch::channel(false);
    let router = Router::new().route("/", get(open));
    let limits = ConnectionLimits::of_process(false);
    let end = EndSignals {
        leaving: closing.clone(),
        closing,
    };
    serve::run(listener, router, end, Duration::ZERO, limits).await;
}

async fn open(connection: Extension<ConnectionHandle>, upgrade: WebSocketUpgrade) -> Response {
    with_limits(upgrade, MESSAGE_BYTES_MAX).on_upgrade(async move |socket| {
        let mut wire = ClientWire::new(socket, MESSAGE_BYTES_MAX, connection.0);
        let Err(end) = echo(&mut wire).await;
        wire.end(end).await;
    })
}

async fn echo(wire: &mut ClientWire) -> Result<std::convert::Infallible, SocketEnd> {
    let mut waiting = VecDeque::new();
    loop {
        if wire.is_open()
            && let Some(message) = waiting.pop_front()
        {
            wire.send_frame(&message)?;
            continue;
        }
        match wire.next().await? {
            WireEvent::Received(Message::Text(text)) => waiting.push_back(SharedFrame::text(text)),
            WireEvent::Received(Message::Binary(bytes)) => {
                waiting.push_back(SharedFrame::binary(bytes));
            }
            WireEvent::Received(_) | WireEvent::Woken | WireEvent::Answered => {}
        }
    }
}
