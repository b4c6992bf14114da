//! Opens a socket in the way that the contract describes for clients other than browsers. The place
//! is sent as a subprotocol, so that the URL contains no secret.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::SwarmSocketOwner;
use crate::swarm::stage::SwarmContext;

/// An open socket.
pub type SwarmWebSocket = WebSocketStream<TcpStream>;

const CONNECT_MAX: Duration = Duration::from_secs(15);
/// The size of a socket's read buffer, in bytes. A visitor reads small frames, and thousands of
/// large buffers would take much memory.
const BUFFER: usize = 2_048;

/// Opens a socket for its owner. If a gateway does not open the socket, it is avoided for a while.
///
/// # Errors
/// Why the socket could not be opened.
pub async fn connect(
    stage: &SwarmContext,
    owner: &SwarmSocketOwner,
) -> Result<SwarmWebSocket, String> {
    let base = stage.http.base_of(owner.number);
    let opening = open(stage, owner, stage.http.url(base));
    let opened = match tokio::time::timeout(CONNECT_MAX, opening).await {
        Ok(opened) => opened,
        Err(_) => Err("no answer to the upgrade".to_owned()),
    };
    if opened.is_err() {
        stage.http.avoid(base);
    }
    opened
}

async fn open(
    stage: &SwarmContext,
    owner: &SwarmSocketOwner,
    base: &str,
) -> Result<SwarmWebSocket, String> {
    let authority = base.trim_start_matches("http://");
    let text = |error: std::io::Error| error.to_string();
    let found = lookup_host(authority).await.map_err(text)?.next();
    let address = found.ok_or_else(|| format!("{authority} has no address"))?;
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4().map_err(text)?,
        SocketAddr::V6(_) => TcpSocket::new_v6().map_err(text)?,
    };
    if let Some(source) = stage
        .http
        .source_of(owner.number)
        .filter(|_| address.is_ipv4())
    {
        let source = SocketAddr::new(IpAddr::V4(source), 0);
        socket.bind(source).map_err(text)?;
    } else if address.ip().is_loopback() && address.is_ipv4() {
        // The sockets come from many source addresses, because one address has too few ports for a
        // crowd.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "taken modulo what fits first"
        )]
        let (high, low) = ((owner.number / 200 % 200) as u8, (owner.number % 200) as u8);
        let source = IpAddr::V4(Ipv4Addr::new(127, 2, high, low + 1));
        socket.bind(SocketAddr::new(source, 0)).map_err(text)?;
    }
    let stream = socket.connect(address).await.map_err(text)?;
    stream.set_nodelay(true).map_err(text)?;
    let url = format!("ws://{authority}{}", stage.room_path("live"));
    let mut request = url
        .into_client_request()
        .map_err(|error| error.to_string())?;
    let protocols = format!("fairgate.v1, place.{}", owner.place);
    let protocols = HeaderValue::from_str(&protocols).map_err(|error| error.to_string())?;
    request
        .headers_mut()
        .insert("sec-websocket-protocol", protocols);
    if let Some(address) = owner.address {
        let address = HeaderValue::from_str(&address.to_string());
        let address = address.map_err(|error| error.to_string())?;
        request.headers_mut().insert("x-forwarded-for", address);
    }
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(0);
    let opened = client_async_with_config(request, stream, Some(config)).await;
    opened
        .map(|(socket, _)| socket)
        .map_err(|error| error.to_string())
}
