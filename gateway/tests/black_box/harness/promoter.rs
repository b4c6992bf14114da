//! Acts as the promoter: writes venues, shows and rooms, and changes a room by hand.

use serde_json::{Value, json};

use super::{PROMOTER_KEY, Server, TestAnswer, documents, until};

/// An actor with the promoter's key.
pub struct Promoter<'a> {
    server: &'a Server,
}

impl<'a> Promoter<'a> {
    /// Makes the promoter of a server.
    pub fn of(server: &'a Server) -> Self {
        Self { server }
    }

    /// Puts a hall with the grid `plan`, the show `night` in this hall, and the room `sale` for
    /// this show. `show` and `room` hold changes to the two documents.
    pub async fn on_sale(&self, plan: &str, show: Value, room: Value) {
        self.put("venues/hall", &json!({"plan": format!("grid:{plan}")}))
            .await
            .is(200);
        self.put("shows/night", &documents::show("hall", show))
            .await
            .is(200);
        self.put("rooms/sale", &documents::room("night", room))
            .await
            .is(201);
    }

    /// Makes `PUT /v1/promoter/{what}` with a document.
    pub async fn put(&self, what: &str, document: &Value) -> TestAnswer {
        self.send(reqwest::Method::PUT, what, Some(document.to_string()))
            .await
    }

    /// Makes `PUT /v1/promoter/{what}` with a text.
    pub async fn put_text(&self, what: &str, text: String) -> TestAnswer {
        self.send(reqwest::Method::PUT, what, Some(text)).await
    }

    /// Makes `PATCH /v1/promoter/{what}`.
    pub async fn patch(&self, what: &str, document: &Value) -> TestAnswer {
        self.send(reqwest::Method::PATCH, what, Some(document.to_string()))
            .await
    }

    /// Makes `POST /v1/promoter/{what}`.
    pub async fn post(&self, what: &str) -> TestAnswer {
        self.send(reqwest::Method::POST, what, None).await
    }

    /// Makes `POST /v1/promoter/{what}` with a document.
    pub async fn post_json(&self, what: &str, document: &Value) -> TestAnswer {
        self.send(reqwest::Method::POST, what, Some(document.to_string()))
            .await
    }

    /// Makes `GET /v1/promoter/{what}`.
    pub async fn get(&self, what: &str) -> TestAnswer {
        self.send(reqwest::Method::GET, what, None).await
    }

    /// Draws the line by hand and waits until the room sells.
    pub async fn draw(&self, room: &str) {
        self.post(&format!("rooms/{room}/draw")).await.is(200);
        self.selling(room).await;
    }

    /// Waits until the room sells.
    pub async fn selling(&self, room: &str) {
        self.phase(room, "selling").await;
    }

    /// Waits until the room is in this phase.
    pub async fn phase(&self, room: &str, phase: &str) {
        until(&format!("{room} is {phase}"), async || {
            (self.room(room).await["phase"] == phase).then_some(())
        })
        .await;
    }

    /// Waits until the room reports this many joins. The room counts joins once a second.
    pub async fn joined(&self, room: &str, people: u64) {
        until(&format!("{people} joined {room}"), async || {
            (self.room(room).await["joined"] == people).then_some(())
        })
        .await;
    }

    /// Returns the public view of the room.
    pub async fn room(&self, room: &str) -> Value {
        self.server.get(&format!("/v1/rooms/{room}")).await.is(200)
    }

    async fn send(&self, method: reqwest::Method, what: &str, body: Option<String>) -> TestAnswer {
        let address = self.server.at(&format!("/v1/promoter/{what}"));
        let mut request = self
            .server
            .http
            .request(method, address)
            .bearer_auth(PROMOTER_KEY);
        if let Some(body) = body {
            let kind = if body.starts_with('{') {
                "application/json"
            } else {
                "text/plain"
            };
            request = request.header("content-type", kind).body(body);
        }
        TestAnswer::of(request).await.expect("an answer")
    }
}
