//! A visitor that is no browser: keeps its secret, its place and its pass itself, and shows them as
//! Bearer.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Answer, DEADLINE, Server, until};

/// Somebody in a room.
#[derive(Clone)]
pub struct Visitor<'a> {
    /// Where.
    pub server: &'a Server,
    /// The room's slug.
    pub room: String,
    /// 32 bytes, hex.
    pub secret: String,
    /// The place, once joined.
    pub place: String,
    /// The join number, once joined.
    pub number: u64,
    /// The pass, once claimed.
    pub pass: String,
}

/// What a hold answered.
#[derive(Debug, Clone)]
pub struct Held {
    /// `hold_…`
    pub hold: String,
    /// Labels.
    pub seats: Vec<String>,
}

/// What an order answered.
#[derive(Debug, Clone)]
pub struct Ordered {
    /// `order_…`
    pub order: String,
    /// Opens it.
    pub key: String,
    /// `payment_…`
    pub payment: String,
}

impl<'a> Visitor<'a> {
    /// Somebody who has not joined yet.
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

    /// Somebody who has joined.
    pub async fn joined(server: &'a Server, room: &str) -> Self {
        let mut visitor = Self::new(server, room);
        visitor.join().await;
        visitor
    }

    /// Somebody who has joined, been called and claimed a pass.
    pub async fn admitted(server: &'a Server, room: &str) -> Self {
        let mut visitor = Self::joined(server, room).await;
        visitor.claim().await;
        visitor
    }

    /// The holder: public.
    ///
    /// # Panics
    /// When the secret is no hex.
    pub fn holder(&self) -> String {
        hex::encode(Sha256::digest(
            hex::decode(&self.secret).expect("a hex secret"),
        ))
    }

    /// Joins, which must give a new place.
    pub async fn join(&mut self) {
        let body = json!({"secret": self.secret});
        let joined = self.post("places", &body).await.expect(201);
        self.place = text(&joined["place"]);
        self.number = joined["number"].as_u64().expect("a number");
    }

    /// `POST /v1/rooms/{room}/{what}`, with the place once there is one; a busy server is asked
    /// again when it says so.
    pub async fn post(&self, what: &str, body: &Value) -> Answer {
        coming_back(async || self.post_once(what, body).await).await
    }

    /// The same, and its first answer, whatever that is.
    pub async fn post_once(&self, what: &str, body: &Value) -> Answer {
        Answer::of(self.room_call(reqwest::Method::POST, what).json(body))
            .await
            .expect("an answer")
    }

    /// `GET /v1/rooms/{room}/place`
    pub async fn look(&self) -> Value {
        Answer::of(self.room_call(reqwest::Method::GET, "place"))
            .await
            .expect("an answer")
            .expect(200)
    }

    /// Leaves the line.
    pub async fn leave(&self) -> Answer {
        Answer::of(self.room_call(reqwest::Method::DELETE, "place"))
            .await
            .expect("an answer")
    }

    /// The rank, once drawn.
    pub async fn rank(&self) -> u64 {
        until("the visitor has a rank", DEADLINE, async || {
            self.look().await["rank"].as_u64()
        })
        .await
    }

    /// Claims the pass when the turn comes.
    pub async fn claim(&mut self) {
        let claimed = until("the visitor's turn comes", DEADLINE, async || {
            let answer = self.try_claim().await;
            (answer.status != 409).then_some(answer)
        })
        .await;
        self.pass = text(&claimed.expect(201)["pass"]);
    }

    /// Asks for the pass, once.
    pub async fn try_claim(&self) -> Answer {
        Answer::of(self.room_call(reqwest::Method::POST, "pass"))
            .await
            .expect("an answer")
    }

    /// A call of booking with the pass.
    pub fn booking(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.server.http.request(method, self.server.at(path));
        if self.pass.is_empty() {
            request
        } else {
            request.bearer_auth(&self.pass)
        }
    }

    /// A call of booking with the pass and a body; a busy server is asked again when it says so.
    pub async fn send(&self, method: reqwest::Method, path: &str, body: &Value) -> Answer {
        coming_back(async || self.send_once(method.clone(), path, body).await).await
    }

    /// The same, and its first answer, whatever that is.
    pub async fn send_once(&self, method: reqwest::Method, path: &str, body: &Value) -> Answer {
        Answer::of(self.booking(method, path).json(body))
            .await
            .expect("an answer")
    }

    /// Holds what `ask` says.
    pub async fn hold(&self, show: &str, ask: &Value) -> Held {
        let path = format!("/v1/shows/{show}/holds");
        let held = self.send(reqwest::Method::POST, &path, ask).await;
        Held::read(&held.expect(201))
    }

    /// Makes an order of a hold.
    pub async fn order(&self, held: &Held) -> Ordered {
        let path = format!("/v1/holds/{}/order", held.hold);
        let ordered = self
            .send(reqwest::Method::POST, &path, &buyer())
            .await
            .expect(201);
        Ordered::read(&ordered)
    }

    /// Presses a button of the sandbox.
    pub async fn settle(&self, ordered: &Ordered, outcome: &str) -> Answer {
        let path = format!("/v1/sandbox/payments/{}", ordered.payment);
        self.send(reqwest::Method::POST, &path, &json!({"outcome": outcome}))
            .await
    }

    /// Reads an order with its key.
    pub async fn read(&self, ordered: &Ordered) -> Answer {
        self.keyed(ordered, &format!("/v1/orders/{}", ordered.order))
            .await
    }

    /// Reads anything that an order's key opens.
    pub async fn keyed(&self, ordered: &Ordered, path: &str) -> Answer {
        let request = self
            .server
            .http
            .get(self.server.at(path))
            .bearer_auth(&ordered.key);
        Answer::of(request).await.expect("an answer")
    }

    /// Waits until the order is in this state, and reads it.
    pub async fn order_is(&self, ordered: &Ordered, state: &str) -> Value {
        until(&format!("the order is {state}"), DEADLINE, async || {
            let order = self.read(ordered).await.expect(200);
            (order["state"] == state).then_some(order)
        })
        .await
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

/// Asks, and comes back at the time that an overloaded server gives, as the pages do: a test of
/// something else is not about what a slow machine sheds.
pub async fn coming_back(ask: impl AsyncFn() -> Answer) -> Answer {
    let started = Instant::now();
    loop {
        let answer = ask().await;
        let told = answer.text();
        let is_shed = match answer.status {
            429 => told.contains("\"overload\""),
            503 => told.contains("\"busy\""),
            _ => false,
        };
        let back_in = answer
            .header("retry-after")
            .parse()
            .map(Duration::from_secs);
        match back_in {
            Ok(back_in) if is_shed && started.elapsed() + back_in < DEADLINE => {
                tokio::time::sleep(back_in).await;
            }
            _ => return answer,
        }
    }
}

impl Held {
    /// Reads the answer of a hold.
    ///
    /// # Panics
    /// When it is none.
    pub fn read(answer: &Value) -> Self {
        let seats = answer["seats"].as_array().expect("seats");
        Self {
            hold: text(&answer["hold"]),
            seats: seats.iter().map(|seat| text(&seat["label"])).collect(),
        }
    }
}

impl Ordered {
    /// Reads the answer of an order.
    ///
    /// # Panics
    /// When it is none.
    pub fn read(answer: &Value) -> Self {
        let payment = text(&answer["payment"]["payment"]);
        Self {
            order: text(&answer["order"]),
            key: text(&answer["order_key"]),
            payment,
        }
    }
}

/// The body of an order.
pub fn buyer() -> Value {
    json!({"buyer": {"name": "Ana Fan", "email": "ana@example.org"}})
}

/// A member that must be a text.
fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("a text, not {value}"))
        .to_owned()
}
