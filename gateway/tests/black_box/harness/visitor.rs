//! Acts as a visitor without a browser: stores its secret, its place and its pass itself, and sends
//! place and pass as Bearer.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Server, TestAnswer, coming_back, text, until};

/// A visitor of a room.
#[derive(Clone)]
pub struct Visitor<'a> {
    /// The server that the visitor calls.
    pub server: &'a Server,
    /// The room's slug.
    pub room: String,
    /// The secret: 32 bytes, hex.
    pub secret: String,
    /// The place, once joined.
    pub place: String,
    /// The join number, once joined.
    pub number: u64,
    /// The pass, once claimed.
    pub pass: String,
}

impl AsRef<str> for Visitor<'_> {
    fn as_ref(&self) -> &str {
        &self.pass
    }
}

impl<'a> Visitor<'a> {
    /// Makes a visitor who has not joined yet.
    pub fn new(server: &'a Server, room: &str) -> Self {
        Self {
            server,
            room: room.to_owned(),
            secret: hex::encode(rand::random::<[u8; 32]>()),
            place: String::new(),
            number: u64::MAX,
            pass: String::new(),
        }
    }

    /// Makes a visitor who has joined.
    pub async fn joined(server: &'a Server, room: &str) -> Self {
        let mut visitor = Self::new(server, room);
        visitor.join().await;
        visitor
    }

    /// Makes a visitor who has joined, been called and claimed a pass.
    pub async fn admitted(server: &'a Server, room: &str) -> Self {
        let mut visitor = Self::joined(server, room).await;
        visitor.claim().await;
        visitor
    }

    /// Returns the visitor's holder, which is public.
    ///
    /// # Panics
    /// If the secret is not hex.
    pub fn holder(&self) -> String {
        hex::encode(Sha256::digest(
            hex::decode(&self.secret).expect("a hex secret"),
        ))
    }

    /// Joins, and checks that the place is new.
    pub async fn join(&mut self) {
        let body = json!({"secret": self.secret});
        let joined = self.post("places", &body).await.is(201);
        self.place = text(&joined, "place");
        self.number = joined["number"].as_u64().expect("a number");
    }

    /// Makes `POST /v1/rooms/{room}/{what}`, with the place once there is one. If the server is
    /// busy, repeats the call at the time that the server gives.
    pub async fn post(&self, what: &str, body: &Value) -> TestAnswer {
        coming_back(async || self.post_once(what, body).await).await
    }

    /// Makes such a call once, without repeating it, and returns any answer.
    pub async fn post_once(&self, what: &str, body: &Value) -> TestAnswer {
        TestAnswer::of(self.room_call(reqwest::Method::POST, what).json(body))
            .await
            .expect("an answer")
    }

    /// Makes `GET /v1/rooms/{room}/place`.
    pub async fn look(&self) -> Value {
        TestAnswer::of(self.room_call(reqwest::Method::GET, "place"))
            .await
            .expect("an answer")
            .is(200)
    }

    /// Leaves the line.
    pub async fn leave(&self) -> TestAnswer {
        TestAnswer::of(self.room_call(reqwest::Method::DELETE, "place"))
            .await
            .expect("an answer")
    }

    /// Waits until the rank is known, and returns it.
    pub async fn rank(&self) -> u64 {
        until("the visitor has a rank", async || {
            self.look().await["rank"].as_u64()
        })
        .await
    }

    /// Waits for the turn and claims the pass.
    pub async fn claim(&mut self) {
        let claimed = until("the visitor's turn comes", async || {
            let answer = self.try_claim().await;
            (answer.status != 409).then_some(answer)
        })
        .await;
        self.pass = text(&claimed.is(201), "pass");
    }

    /// Asks for the pass once.
    pub async fn try_claim(&self) -> TestAnswer {
        TestAnswer::of(self.room_call(reqwest::Method::POST, "pass"))
            .await
            .expect("an answer")
    }

    /// Returns a request to booking, with the pass once there is one.
    pub fn booking(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.server.http.request(method, self.server.at(path));
        if self.pass.is_empty() {
            request
        } else {
            request.bearer_auth(&self.pass)
        }
    }

    /// Makes a call to booking with the pass and a body. If the server is busy, repeats the call at
    /// the time that the server gives.
    pub async fn send(&self, method: reqwest::Method, path: &str, body: &Value) -> TestAnswer {
        coming_back(async || self.send_once(method.clone(), path, body).await).await
    }

    /// Makes such a call once, without repeating it, and returns any answer.
    pub async fn send_once(&self, method: reqwest::Method, path: &str, body: &Value) -> TestAnswer {
        TestAnswer::of(self.booking(method, path).json(body))
            .await
            .expect("an answer")
    }

    fn room_call(&self, method: reqwest::Method, what: &str) -> reqwest::RequestBuilder {
        let address = self.server.at(&format!("/v1/rooms/{}/{what}", self.room));
        let request = self.server.http.request(method, address);
        if self.place.is_empty() {
            request
        } else {
            request.bearer_auth(&self.place)
        }
    }
}
