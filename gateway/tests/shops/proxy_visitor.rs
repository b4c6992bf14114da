//! A visitor behind one of the sample proxies.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fairgate_servers::actors::{PATIENCE, TestAnswer, coming_back};
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

pub const SALE: &str = "https://sale.example";
pub const SHOP: &str = "https://shop.example";
pub const ROOM: &str = "/v1/rooms/night-one";

/// A visitor on a network of their own.
pub struct ProxyVisitor {
    client: reqwest::Client,
    port: u16,
    pub address: IpAddr,
}

pub type VisitorSocket = WebSocketStream<reqwest::Upgraded>;

impl ProxyVisitor {
    /// Makes the visitor number `n`, whose IPv4 address is in a /24 of its own. The proxy listens
    /// on `port`.
    pub fn new(port: u16, n: u16) -> Self {
        let [high, low] = n.to_be_bytes();
        let address = IpAddr::from(Ipv4Addr::new(127, 1 + high, low, 1));
        let proxy = SocketAddr::from(([127, 0, 0, 1], port));
        let client = reqwest::Client::builder()
            .no_proxy()
            .local_address(address)
            .resolve("sale.example", proxy)
            .resolve("shop.example", proxy)
            .tls_danger_accept_invalid_certs(true)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PATIENCE)
            .build();
        Self {
            client: client.expect("a client"),
            port,
            address,
        }
    }

    /// Builds a request of a page on this site, with forged client addresses.
    pub fn request(&self, method: Method, site: &str, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{site}:{}{path}", self.port))
            .header("host", site.trim_start_matches("https://"))
            .header("origin", site)
            .header("x-forwarded-for", "9.9.9.9, 9.9.9.8")
            .header("forwarded", "for=9.9.9.9")
            .header("x-real-ip", "9.9.9.9")
    }

    /// Builds a join.
    pub fn join_request(&self) -> RequestBuilder {
        let path = format!("{ROOM}/places");
        self.request(Method::POST, SALE, &path).json(&json!({}))
    }

    pub async fn join(&self) -> TestAnswer {
        coming_back(async || self.ask(self.join_request()).await).await
    }

    pub async fn ask(&self, request: RequestBuilder) -> TestAnswer {
        TestAnswer::of(request).await.expect("an answer")
    }

    /// Opens the live socket of a place.
    ///
    /// # Errors
    /// What came in place of a socket.
    pub async fn open_socket(&self, place: &str) -> Result<VisitorSocket, String> {
        let opened = self
            .request(Method::GET, SALE, &format!("{ROOM}/live"))
            .header("connection", "Upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==")
            .header(
                "sec-websocket-protocol",
                format!("fairgate.v1, place.{place}"),
            )
            .send();
        let opened = opened.await.map_err(|error| format!("{error:?}"))?;
        if opened.status() != 101 {
            return Err(format!("a socket was answered with {}", opened.status()));
        }
        let stream = opened.upgrade().await;
        let stream = stream.map_err(|error| format!("{error:?}"))?;
        Ok(WebSocketStream::from_raw_socket(stream, Role::Client, None).await)
    }
}
